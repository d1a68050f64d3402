"""Read the curves that a program wrote while it trained, from `metrics.jsonl` in its working directory.

Each line is a JSON object of numbers by name, such as `{"step": 3, "loss": 0.21}`; without a `step`, a
line's number is its step, from 0.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pydantic import StrictFloat, TypeAdapter

from comind.errors import SubmissionError
from comind.system.files import read_untrusted

CURVES_FILE = "metrics.jsonl"
_BYTES = 8 << 20
_MOST_POINTS = 50_000
_NAME_LENGTH = 100
_MOST_STEPS = 1 << 31
_LINE = TypeAdapter(dict[str, StrictFloat])


class CurvePoint(NamedTuple):
    """A value of one curve."""

    name: str
    value: float
    step: int


class TrainingCurves(NamedTuple):
    """The points of all curves, and a line about what was left out; "" for nothing."""

    points: list[CurvePoint]
    left_out: str


def read_curves(workspace: Path) -> TrainingCurves:
    """Read the curves in a working directory, whose content is untrusted; empty without the file."""
    if not (workspace / CURVES_FILE).exists():
        return TrainingCurves([], "")
    try:
        lines = read_untrusted(workspace, CURVES_FILE, limit=_BYTES).decode("utf-8").splitlines()
    except (SubmissionError, UnicodeDecodeError) as error:
        return TrainingCurves([], f"{CURVES_FILE} was not read: {error}")
    found: list[CurvePoint] = []
    for number, line in enumerate(lines):
        try:
            found += _points(line, number)
        except ValueError:
            return TrainingCurves(found, f"{CURVES_FILE}, line {number + 1}: no JSON object of numbers")
        if len(found) > _MOST_POINTS:
            return TrainingCurves(
                found[:_MOST_POINTS], f"{CURVES_FILE}: more than {_MOST_POINTS} values"
            )
    return TrainingCurves(found, "")


def _points(line: str, number: int) -> Iterator[CurvePoint]:
    """Yield the values of a line; what is not finite, as the loss of a run that diverged, is left out.

    Raises:
        ValueError: it is no object of numbers, or its step is no number of a step.
    """
    if not line.strip():
        return
    values = _LINE.validate_json(line)
    step = values.pop("step", number)
    if not 0 <= step < _MOST_STEPS or step != int(step):
        raise ValueError(f"{step} is no step")
    for name, value in values.items():
        if math.isfinite(value):
            yield CurvePoint(name[:_NAME_LENGTH], value, int(step))
