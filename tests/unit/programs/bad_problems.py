"""Folders of problems that are refused: how each is broken, and the line that says so.

Data for the tests and for docs/bad-input.md.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.unit.programs.small_problems import SCORER


class BadProblem(NamedTuple):
    """A way to break a small problem, and what is said of it; `{folder}` is where it lies."""

    name: str
    wrong: str
    breaks: Callable[[Path], object]
    line: str
    hint: str = ""


def _write(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(text)


def _link(folder: Path) -> None:
    (folder / "more.txt").symlink_to("nowhere")
    (folder / "scorer.py").chmod(0o600)


def _instances(*parts: str, **changes: object) -> Callable[[Path], object]:
    """List instances of these parts."""
    instance = {"room": 7, "numbers": [1, 2, 4]}
    made = [
        {"id": str(number), "part": part, "instance": instance, "reference": 7, **changes}
        for number, part in enumerate(parts)
    ]
    return _write("instances.json", json.dumps(made))


_READ = "{folder}: its instances cannot be read: "
BAD_PROBLEMS = (
    BadProblem(
        "program without a scorer",
        "competition.yaml has `program`, and there is no scorer.py",
        lambda folder: (folder / "scorer.py").unlink(),
        "{folder}: has no scorer.py",
        "it defines score(instance, solution); docs/programs.md has an example",
    ),
    BadProblem(
        "link in a folder of its owner alone",
        "the folder has to be copied for the sandbox, and a file is a link",
        _link,
        "{folder}/more.txt is a symbolic link",
        "put the file itself there",
    ),
    BadProblem(
        "key of tables beside a scorer",
        "competition.yaml names a metric, and there is a scorer.py",
        _write("competition.yaml", "metric: rmse\n"),
        "{folder}/competition.yaml: 'metric' is a key of tables",
        "keys of competitions of programs: id, title, kind, licence, deadline, program",
    ),
    BadProblem(
        "no processor time",
        "the limit of seconds is 0",
        _write("competition.yaml", "program: {seconds: 0}\n"),
        "{folder}/competition.yaml: program.seconds: Input should be greater than 0",
    ),
    BadProblem(
        "no instances",
        "there is neither generator.py nor instances.json",
        lambda folder: (folder / "generator.py").unlink(),
        "{folder}: has neither generator.py nor instances.json",
    ),
    BadProblem(
        "generator that fails",
        "generator.py raises an exception",
        _write("generator.py", "def generate():\n    raise RuntimeError('no luck')\n"),
        _READ + "RuntimeError: no luck",
    ),
    BadProblem(
        "scorer that is not Python",
        "scorer.py has a syntax error",
        _write("scorer.py", "def score(instance, solution)\n    return 1\n"),
        _READ + "SyntaxError: expected ':'",
    ),
    BadProblem(
        "too few instances",
        "there are three instances without parts",
        _instances("", "", ""),
        "{folder}: 3 instances; at least 4 are needed",
    ),
    BadProblem(
        "instance that is no mapping",
        "the arguments of `solve` are a list",
        _instances("", "", "", "", instance=[1, 2]),
        _READ + "TypeError: instance 0 is no mapping with a mapping `instance`",
    ),
    BadProblem(
        "instance without a reference",
        "an instance has no reference, and scorer.py no `normalised`",
        _instances("", "", "", "", reference=None),
        _READ + "ValueError: instance 0 has no reference, and scorer.py no `normalised`",
    ),
    BadProblem(
        "unknown part",
        "an instance is of the part `train`",
        _instances("train", "sealed", "test", "sealed"),
        "{folder}: an instance is of the part 'train'",
        "the parts are development, sealed and test; or name none at all",
    ),
    BadProblem(
        "part without instances",
        "no instance is of the part `sealed`",
        _instances("development", "test", "test", "development"),
        "{folder}: no instance is of the part sealed",
    ),
    BadProblem(
        "id twice",
        "two instances have the same id",
        _instances("", "", "", "", id="a"),
        "{folder}: two instances have the id 'a'",
    ),
    BadProblem(
        "scorer without a function",
        "scorer.py defines no `score`",
        _write("scorer.py", "MAXIMIZE = True\n"),
        _READ + "AttributeError: scorer.py defines no function `score`",
    ),
    BadProblem(
        "scorer without a direction",
        "scorer.py has neither MAXIMIZE nor `normalised`",
        _write("scorer.py", SCORER.replace("MAXIMIZE = True", "")),
        _READ + "AttributeError: scorer.py defines neither MAXIMIZE nor `normalised`",
    ),
)
