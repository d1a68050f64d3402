"""What agents see of a problem's code: no reference, and nothing of sealed instances."""

from pathlib import Path

import pytest

from comind.errors import CompetitionError
from comind.programs.problem_files import copied_scorer, copy_scorer, description_of, first_program
from tests.unit.programs.small_problems import write_problem

_CONFIG = '''
"""A secret page: the optimum is 112233."""
from __future__ import annotations
import math, statistics as st
import numpy as np
from tables import distance, OPTIMA
from secrets_of_ours import REFERENCES

DESCRIPTION = """Pack things."""
BEST = {"a.txt": [112233, 445566]}
BEST["b.txt"] = [778899]
LIMITS: dict[str, int] = {}
LIMITS["most"] = 7
WEIGHTS = [1]
WEIGHTS.append(len(LIMITS))
print(BEST)
np.seterr(all="ignore")
try:
    import numba
    fast = numba.njit
except ImportError:
    def fast(function):
        return function


class Checker:
    most = LIMITS["most"]


@fast
def total(values):
    return sum(map(distance, values)) * WEIGHTS[0]


def unused():
    return BEST, OPTIMA


def solve(**kwargs):
    """Return {"x": list}."""
    return {"x": []}


def load_data(path):
    return [{"n": 1, "best": 112233}]


def eval_func(**kwargs):
    return total(kwargs["x"]) + Checker.most + math.pi


def norm_score(results):
    return {case: BEST[case] for case in results}


def get_dev():
    return {"a.txt": [0]}
'''


def _write_cobench(folder: Path) -> Path:
    folder.mkdir()
    texts = {
        "config.py": _CONFIG,
        "tables.py": "import math\nOPTIMA = 445566\ndef distance(x): return helped(x)\n",
        "secrets_of_ours.py": "REFERENCES = [112233]\n",
        "a.txt": "112233\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder


def _texts(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()
    }


def test_public_code_of_cobench_is_what_its_scorer_uses(tmp_path: Path) -> None:
    """The public config has `eval_func`, `solve` and what these use; no reference, and no loader."""
    problem = _write_cobench(tmp_path / "given")
    copy_scorer(problem, tmp_path / "public", public=True)
    found = _texts(tmp_path / "public")
    assert set(found) == {"config.py", "tables.py"}
    names: dict[str, object] = {}
    code = found["config.py"].replace("from tables import distance", "distance = abs")
    exec(code, names)  # it is complete
    assert names["eval_func"](x=[1, 2]) == pytest.approx(13.14159, abs=1e-4)  # type: ignore[operator]
    for word in (
        "112233",
        "778899",
        "OPTIMA",
        "REFERENCES",
        "norm_score",
        "load_data",
        "get_dev",
        "print",
    ):
        assert word not in found["config.py"]


def test_graders_have_the_whole_code_of_cobench(tmp_path: Path) -> None:
    """The grader's copy has all modules as they are, and no instances."""
    problem = _write_cobench(tmp_path / "given")
    with copied_scorer(problem) as place:
        found = _texts(place)
    assert set(found) == {"config.py", "tables.py", "secrets_of_ours.py"}
    assert found["config.py"] == _CONFIG


def test_description_and_template_of_cobench_are_in_its_code(tmp_path: Path) -> None:
    """The page for agents is CO-Bench's DESCRIPTION, and the first program its template."""
    problem = _write_cobench(tmp_path / "given")
    assert description_of(problem) == "Pack things."
    assert first_program(problem).startswith("def solve(**kwargs):")


def test_public_files_are_those_that_the_scorer_needs(tmp_path: Path) -> None:
    """Agents get scorer.py, the modules that it imports and the files that it names; no others."""
    problem = write_problem(
        tmp_path / "given",
        scorer_py="import rules\nMAXIMIZE = True\ndef score(i, s): return rules.TABLE[s]\n",
        rules_py="import deeper.more\nTABLE = open('table.txt').read()\n",
        table_txt="1 2 3\n",
        references_txt="112233\n",
        planted_py="SOLUTIONS = [112233]\n",
        instances_json="[112233]",
    )
    (problem / "deeper").mkdir()
    for name in ("__init__.py", "more.py"):
        (problem / "deeper" / name).write_text("")
    (problem / "__init__.py").write_text("")
    (problem / "raw").mkdir()
    (problem / "raw" / "a.dat").write_text("112233\n")
    copy_scorer(problem, tmp_path / "public", public=True)
    names = {"scorer.py", "rules.py", "table.txt", "deeper/__init__.py", "deeper/more.py"}
    assert set(_texts(tmp_path / "public")) == names
    copy_scorer(problem, tmp_path / "sealed", public=False)
    others = {"references.txt", "planted.py", "raw/a.dat", "__init__.py"}
    assert set(_texts(tmp_path / "sealed")) == names | others


def test_links_in_a_problem_are_refused(tmp_path: Path) -> None:
    """A link among the scorer's files is refused: it could lead anywhere."""
    problem = write_problem(tmp_path / "given")
    (problem / "rules.py").symlink_to("/etc/passwd")
    with pytest.raises(CompetitionError, match="no plain file"):
        copy_scorer(problem, tmp_path / "sealed", public=False)
