"""What is inferred, split, described and scored stays as it was, for real, synthetic and planted data.

`tests/fixtures/golden/competitions.json` holds what was found, with hashes of the rows of each part and
scores to the last digit. The seven real competitions are beside the checkout (`shared/data`) or where
COMIND_DATA says; without them theirs are skipped. After a wanted change, write it anew and look at the
difference:

    .venv/bin/python -m tests.e2e.test_golden_competitions && git diff tests/fixtures/golden

Parts: `-k real`, `-k download`, `-k planted`, `-k sealed`, `-k grades`, `-k profile`, `-k baseline`.
"""

import difflib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from comind.app.downloads import prepare_download
from comind.app.inspection import inspect_competition
from comind.competitions.competition_folder import load_competition
from comind.demos.make import DEMOS, make_demo
from comind.domain.competition import Competition
from comind.errors import ComindError
from comind.grading.past_competition import grade_past
from comind.profile.problem_description import describe_problem
from comind.splits.extra_folds import write_folds
from comind.splits.split_files import make_split
from tests.e2e.command import comind
from tests.unit.competitions.download.downloads import DOWNLOADS, Download, place
from tests.unit.splits.planted import PLANTED, planted_world
from tests.unit.splits.sealed_worlds import PLANTS, build, table_of

_GOLDEN = Path(__file__).parents[1] / "fixtures" / "golden" / "competitions.json"
_REWRITE = "GOLDEN_REWRITE"
_BESIDE = Path(__file__).parents[3] / "shared" / "data"
_DATA = Path(os.environ.get("COMIND_DATA", _BESIDE))
_REAL = (
    "bike-sharing-demand",
    "covid19-global-forecasting-week-1",
    "fsdd-spoken-digits",
    "house-prices-advanced-regression-techniques",
    "leaf-classification",
    "spooky-author-identification",
    "titanic",
)
_QUICK = ("bike-sharing-demand", "titanic")
_SLOW = pytest.mark.torture
_REAL_CASES = [pytest.param(name, marks=() if name in _QUICK else _SLOW) for name in _REAL]
_PLANTED_CASES = [
    *(pytest.param(name, 200, id=f"{name}-200") for name in PLANTED),
    *(
        pytest.param(name, seed, id=f"{name}-{seed}", marks=_SLOW)
        for name in PLANTED
        for seed in (201, 202)
    ),
]


def _compare(name: str, found: Any) -> None:
    """Compare with the golden file, or write it; the last bit of a float depends on the processor."""
    golden = json.loads(_GOLDEN.read_text(encoding="utf-8")) if _GOLDEN.is_file() else {}
    if os.environ.get(_REWRITE):
        golden[name] = json.loads(json.dumps(found))
        _GOLDEN.write_text(_text(golden), encoding="utf-8")
    texts = [_text(_rounded(each)).splitlines() for each in (golden.get(name), found)]
    assert texts[0] == texts[1], "\n".join(
        difflib.unified_diff(*texts, "golden", "found", lineterm="", n=1)
    )


def _rounded(value: Any) -> Any:
    """Return a JSON value with 14 digits of each float."""
    return json.loads(json.dumps(value), parse_float=lambda digits: float(f"{float(digits):.14g}"))


def _text(value: Any) -> str:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _tables(folder: Path) -> dict[str, str]:
    """Return the hash of each table, with its rows, and one hash of the names of all other files."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    own = {path.name: path.read_bytes() for path in files if path.suffix == ".csv"}
    others = [path.relative_to(folder).as_posix() for path in files if path.suffix != ".csv"]
    tables = {name: f"{data.count(10)} lines {_hash(data)}" for name, data in own.items()}
    return tables | {"others": f"{len(others)} {_hash(' '.join(others).encode())}"}


def _understood(competition: Competition, root: Path) -> dict[str, Any]:
    """Return what is inferred of a competition, and what a split of it holds."""
    try:
        inspected = inspect_competition(competition.folder)
        made = make_split(competition, root / "splits", seed=0)
    except ComindError as error:
        return {"error": f"{error}".replace(str(root), "ROOT"), "hint": error.hint}
    inspected.pop("described")
    split = made.read()
    made.folds.mkdir()
    write_folds(made.public, split, made.folds / "folds.csv")
    groups = made.read_groups()
    return {
        "inspected": inspected,
        "key": split.key,
        "rule": split.rule.model_dump(mode="json", exclude_defaults=True),
        "reason": split.rule_reason,
        "public": _tables(made.public),
        "sealed": _tables(made.sealed),
        "folds": _tables(made.folds),
        "groups": None if groups is None else int(groups.max(initial=-1)) + 1,
        "hashes": [split.public_sha256[:16], split.sealed_sha256[:16]],
    }


def _plain(name: str, root: Path) -> Path:
    """Return a real competition's public files as a plain download."""
    source = root / "source" / name
    shutil.copytree(_DATA / name / "public", source)
    return source


def _arranged(source: Path, root: Path, describe: str = "") -> tuple[list[str], Competition | None]:
    """Return the lines of a download's report, and the competition if it could be arranged."""
    try:
        layout = prepare_download(source, root / "project", describe)
    except ComindError as error:
        return [f"refused: {error}".replace(str(root), "ROOT"), error.hint], None
    lines = [line.replace(str(root), "ROOT") for line in layout.lines()]
    return lines, load_competition(layout.folder)


@pytest.fixture
def real(request: pytest.FixtureRequest) -> Competition:
    """One of the real competitions."""
    folder = _DATA / request.param
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    return load_competition(folder)


@pytest.mark.parametrize("real", _REAL_CASES, indirect=True)
def test_real_competitions_are_understood(tmp_path: Path, real: Competition) -> None:
    """Columns, metric, rule, warnings and the bytes of each part, as described in competition.yaml."""
    _compare(f"real {real.id}", _understood(real, tmp_path))


@pytest.mark.parametrize("real", _REAL_CASES, indirect=True)
def test_real_downloads_are_understood(tmp_path: Path, real: Competition) -> None:
    """The same from the public files alone."""
    lines, arranged = _arranged(_plain(real.folder.name, tmp_path), tmp_path)
    found: dict[str, Any] = {"layout": lines}
    if arranged is not None:
        found |= _understood(arranged, tmp_path) | {"arranged": _tables(arranged.public)}
    _compare(f"plain {real.id}", found)


@pytest.mark.parametrize("case", DOWNLOADS, ids=lambda case: case.name)
def test_synthetic_downloads_are_understood(tmp_path: Path, case: Download) -> None:
    """Findings, columns, metric and the bytes of each part of synthetic downloads."""
    lines, arranged = _arranged(
        place(case.files(), tmp_path, packed=case.packed), tmp_path, case.describe
    )
    found: dict[str, Any] = {"layout": lines}
    if arranged is not None:
        found |= _understood(arranged, tmp_path) | {"arranged": _tables(arranged.public)}
    _compare(f"download {case.name}", found)


@pytest.mark.parametrize(("family", "seed"), _PLANTED_CASES)
def test_planted_rules_are_found(tmp_path: Path, family: str, seed: int) -> None:
    """Rule, confidence, warnings and rows of planted worlds."""
    competition = load_competition(planted_world(family, seed).build(tmp_path))
    _compare(f"planted {family} {seed}", _understood(competition, tmp_path))


@pytest.mark.parametrize("plant", PLANTS)
def test_sealed_worlds_are_split(tmp_path: Path, plant: str) -> None:
    """Rows, files and warnings of worlds with labels in side files."""
    train = table_of("markers")
    public = build(tmp_path, train, first=1)
    PLANTS[plant](public, train)
    found = _understood(load_competition(public.parent), tmp_path)
    del found["key"], found["hashes"]  # archives have the time at which they were made
    _compare(f"sealed {plant}", found)


def _perturbed(answers: pd.DataFrame, competition: Competition) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield submissions: the truth, shuffled, some wrong, the sample's, and others that are invalid."""
    targets = [name for name in answers.columns if name not in competition.id_columns]
    order = np.random.default_rng(0).permutation(len(answers))
    yield "truth", answers
    shuffled = answers.copy()
    shuffled[targets] = answers[targets].iloc[order].to_numpy()
    yield "shuffled", shuffled
    some = answers.copy()
    rows = order[: len(order) // 5]
    some.loc[rows, targets] = answers[targets].iloc[np.roll(rows, 1)].to_numpy()
    yield "a fifth moved", some
    yield "reversed", answers.iloc[::-1]
    sample = pd.read_csv(competition.public / "sample_submission.csv", dtype=str, keep_default_na=False)
    yield "sample", sample
    yield "a row less", answers.iloc[1:]
    yield "a row twice", pd.concat([answers, answers.head(1)])
    yield "an empty cell", answers.assign(**{targets[0]: ["", *answers[targets[0]].iloc[1:]]})


def _graded(competition: Competition, root: Path) -> dict[str, Any]:
    answers = pd.read_csv(competition.answers, dtype=str, keep_default_na=False)
    found = {}
    for name, table in _perturbed(answers, competition):
        path = root / f"{name.replace(' ', '_')}.csv"
        table.to_csv(path, index=False)
        found[name] = grade_past(competition, path).model_dump(mode="json")
    return json.loads(re.sub(re.escape(str(root)), "ROOT", json.dumps(found)))  # type: ignore[no-any-return]


@pytest.mark.parametrize("real", _REAL_CASES, indirect=True)
def test_grades_of_real_competitions(tmp_path: Path, real: Competition) -> None:
    """Scores, ranks and messages of submissions, to the last digit."""
    _compare(f"grades {real.id}", _graded(real, tmp_path))


@pytest.mark.parametrize("name", sorted(DEMOS))
def test_demos_are_understood_and_grades_stay(tmp_path: Path, name: str) -> None:
    """What is inferred of the demos, and grades of submissions to them."""
    competition = load_competition(make_demo(name, tmp_path / "demos"))
    _compare(f"demo {name}", _understood(competition, tmp_path))
    _compare(f"grades {name}", _graded(competition, tmp_path))


def _described(competition: Competition, root: Path) -> dict[str, Any]:
    split = make_split(competition, root / "splits", seed=0)
    problem = describe_problem(split, lambda text: len(text) // 4).model_dump(
        mode="json", exclude={"traits", "folds"}
    )
    lines = problem.pop("preview").splitlines()
    return {"problem": problem, "profile": lines}


@pytest.mark.parametrize("real", _REAL_CASES, indirect=True)
def test_profile_of_real_competitions(tmp_path: Path, real: Competition) -> None:
    """Shape of the problem, and the text for prompts."""
    _compare(f"profile {real.id}", _described(real, tmp_path))


@pytest.mark.parametrize("case", DOWNLOADS, ids=lambda case: case.name)
def test_profile_of_synthetic_downloads(tmp_path: Path, case: Download) -> None:
    """Shape of the problem, and the text for prompts."""
    _, arranged = _arranged(place(case.files(), tmp_path, packed=case.packed), tmp_path, case.describe)
    assert arranged is not None
    if arranged.metric is None:
        pytest.skip("a split needs a metric")
    _compare(f"profile {case.name}", _described(arranged, tmp_path))


@pytest.mark.torture
@pytest.mark.parametrize("name", [*_REAL, *sorted(DEMOS)])
def test_baseline_scores_as_before(tmp_path: Path, shared_server: str, name: str) -> None:
    """Validation score of attempt 0."""
    del shared_server
    folder = _DATA / name
    if name in _REAL and not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    source = str(folder) if name in _REAL else name
    words = ["solve", source, "--model", "offline", "--iterations", "0", "--sandbox", "process"]
    ran = comind(*words, "--minutes", "10", "--community", "none", "--json", cwd=tmp_path)
    assert ran.exit_code == 0, ran.stderr
    _compare(f"baseline {name}", {"score": ran.json["validation_score"], "metric": ran.json["metric"]})


if __name__ == "__main__":
    _GOLDEN.unlink(missing_ok=True)
    words = ["-m", "pytest", "-q", "-n", "0", "-m", "", "-p", "no:cacheprovider", __file__]
    sys.exit(subprocess.call([sys.executable, *words], env=os.environ | {_REWRITE: "1"}))
