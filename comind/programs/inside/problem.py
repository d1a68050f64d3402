"""A problem's own code: its instances, the objective of a solution, and how that is normalised.

A folder has `scorer.py` and, for instances, `generator.py` or `instances.json`; or it is one of
CO-Bench, with `config.py` beside the files of instances.
"""

import importlib.util
import inspect
import json
import math
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from .values import is_score

INFEASIBLE = "infeasible"
SCORER = "was not scored"
_REFERENCE = re.compile(
    r"(upper|lower)_?bounds?|(best|optimal|optimum|opt|reference|bks)(_.*)?"
    r"|(best|optimal)(known|value|solution|cost|score|objective).*|known_(best|optimum|optimal).*",
    re.IGNORECASE,
)
"""Names of values that CO-Bench's instances have for their scorers alone."""
_NOT_DATA = {".py", ".md", ".yaml", ".yml", ".pyc"}


class Problem:
    """The code of a problem in a folder."""

    def __init__(self, folder: Path) -> None:
        """Import it; the folder's other modules can be imported by it."""
        sys.path.insert(0, str(folder))
        self._folder = folder
        self.is_cobench = not (folder / "scorer.py").is_file()
        self._code = _imported(folder / ("config.py" if self.is_cobench else "scorer.py"))

    @property
    def normalises(self) -> bool:
        """Whether scores are normalised; agents' copy of CO-Bench's code knows no references."""
        return not self.is_cobench or hasattr(self._code, "norm_score")

    def instances(self) -> Iterator[dict[str, Any]]:
        """Yield the instances: id, case, part, and the fields for the program, apart from all others."""
        yield from (self._of_cobench() if self.is_cobench else self._own())

    def score(self, given: dict[str, Any], solution: Any, seconds: float) -> tuple[float, float | None]:
        """Return the normalised score and the objective of a solution.

        Without references the score is the objective, negative if it is minimised.

        Raises:
            ValueError: it is infeasible, or has no finite objective.
        """
        if self.is_cobench:
            return self._score_of_cobench(given, solution)
        score = self._code.score
        timed = len(inspect.signature(score).parameters) > 2  # noqa: PLR2004 - instance and solution
        raw = score(given["instance"], solution, *([seconds] if timed else []))
        if not is_score(raw):
            raise ValueError(f"its objective is {raw!r}")
        return self._normalised(raw, given.get("reference")), float(raw)

    def _normalised(self, raw: float, reference: Any) -> float:
        own: Callable[[float, Any], float] | None = getattr(self._code, "normalised", None)
        if own is not None:
            found = own(raw, reference)
        elif self._code.MAXIMIZE:
            found = raw / reference
        else:
            found = reference / raw if raw > 0 else 0.0
        if not is_score(found):
            raise ValueError(f"its normalised score is {found!r}")
        return max(0.0, float(found))

    def _own(self) -> Iterator[dict[str, Any]]:
        if not hasattr(self._code, "score"):
            raise AttributeError("scorer.py defines no function `score`")
        if not hasattr(self._code, "MAXIMIZE") and not hasattr(self._code, "normalised"):
            raise AttributeError("scorer.py defines neither MAXIMIZE nor `normalised`")
        listed = self._folder / "instances.json"
        made = (
            json.loads(listed.read_text(encoding="utf-8"))
            if listed.is_file()
            else _imported(self._folder / "generator.py").generate()
        )
        for number, each in enumerate(made):
            if not isinstance(each, dict) or not isinstance(each.get("instance"), dict):
                raise TypeError(f"instance {number} is no mapping with a mapping `instance`")
            if each.get("reference") is None and not hasattr(self._code, "normalised"):
                raise ValueError(f"instance {number} has no reference, and scorer.py no `normalised`")
            yield {
                "id": str(each.get("id", f"{number:03d}")),
                "case": str(each.get("case", "")),
                "part": str(each.get("part", "")),
                "instance": each["instance"],
                "reference": each.get("reference"),
                "withheld": {},
            }

    def _of_cobench(self) -> Iterator[dict[str, Any]]:
        development = (self._code.get_dev() if hasattr(self._code, "get_dev") else None) or {}
        for file in sorted(self._folder.iterdir()):
            if file.suffix in _NOT_DATA or not file.is_file() or file.name.startswith("."):
                continue
            found = self._code.load_data(str(file))
            chosen = development.get(file.name, ())
            if file.name in development and not chosen:
                chosen = (0,)  # as CO-Bench reads an empty list
            for number, each in enumerate(found):
                withheld = {name: value for name, value in each.items() if _REFERENCE.fullmatch(name)}
                yield {
                    "id": f"{file.stem}-{number:03d}",
                    "case": file.name,
                    "part": "public" if number in chosen else "test",
                    "instance": {name: value for name, value in each.items() if name not in withheld},
                    "reference": [number, len(found), self._is_maximised(file.name, number, len(found))],
                    "withheld": withheld,
                }

    def _score_of_cobench(self, given: dict[str, Any], solution: Any) -> tuple[float, float | None]:
        if not isinstance(solution, dict):
            raise ValueError(f"solve returned {type(solution).__name__} instead of a dictionary")  # noqa: TRY004
        solution = {str(name): value for name, value in solution.items()}
        clashing = sorted(set(solution) & (set(given["instance"]) | set(given["withheld"])))
        if clashing:
            raise ValueError(f"the solution names a field of the instance: {clashing[0]}")
        raw = self._code.eval_func(**given["instance"], **given["withheld"], **solution)
        if not is_score(raw):
            raise ValueError(f"its objective is {raw!r}")
        number, count, maximised = given["reference"]
        if not self.normalises:
            return float(raw) if maximised else -float(raw), float(raw)
        found = self._normalised_by_case(given["case"], number, count, raw)
        if not is_score(found):
            raise ValueError("no reference value is known")
        return max(0.0, float(found)), float(raw)

    def _normalised_by_case(self, case: str, number: int, count: int, raw: float) -> Any:
        """Return CO-Bench's normalised score of one instance of a case; NaN where none is known."""
        scores: list[Any] = ["not this one"] * count
        scores[number] = raw
        known = self._code.norm_score({case: (scores, None)}).get(case)
        return known[0][number] if known is not None else math.nan

    def _is_maximised(self, case: str, number: int, count: int) -> bool:
        """Return whether a larger objective has a better score; True if no reference is known."""
        if not hasattr(self._code, "norm_score"):
            return True
        low, high = (self._normalised_by_case(case, number, count, raw) for raw in (1.0, 2.0))
        return not (is_score(low) and is_score(high)) or bool(high > low)


def _imported(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module
