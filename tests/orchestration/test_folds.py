"""Work can read the rows of its split or fold, and no sealed part."""

from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from comind.domain.draft import Operator
from comind.session.session_ports import CellStatus
from comind.splits.extra_folds import make_fold
from comind.wiring.runtime import CampaignRuntime
from tests.orchestration.prepared_campaign import runtime_with_split
from tests.unit.campaign.samples import code
from tests.unit.competitions.folders import competition_folder

_LOOK = """
from pathlib import Path
print(Path("input/small/train.csv").read_text())
print("shared folds:", len(Path("input/folds/folds.csv").read_text().splitlines()) - 1)
for place in [Path("input"), *map(Path, SPLITS)]:
    for path in sorted(place.rglob("*")):
        print(path)
"""


@pytest.fixture
def runtime(tmp_path: Path) -> CampaignRuntime:
    """The runtime of a campaign with a split."""
    return runtime_with_split(tmp_path / "project", competition_folder(tmp_path))


def _seen(runtime: CampaignRuntime, work_id: str, **changes: object) -> tuple[set[str], str]:
    """Return the ids of the rows that work trains on, and all its output."""
    work = code().model_copy(update=changes)
    session = runtime.open_session(work, runtime.folder.work(work_id))
    try:
        splits = [str(runtime.split_folder.root), str(make_fold(runtime.split_folder, 1).root)]
        result = session.run(_LOOK.replace("SPLITS", repr(splits)), seconds=60)
    finally:
        session.close()
    assert result.status is CellStatus.OK, result.error
    rows = [line for line in result.output.splitlines() if line.count(",") == 2]
    return {row.split(",")[0] for row in rows[1:]}, result.output


def _held_back(answers: Path) -> set[str]:
    return {line.split(",")[0] for line in answers.read_text().splitlines()[1:]}


def test_an_attempt_finds_no_sealed_part_and_no_fold(runtime: CampaignRuntime) -> None:
    """An attempt trains on all rows but the validation rows, and finds no sealed part."""
    made = make_fold(runtime.split_folder, 1)
    rows, printed = _seen(runtime, "attempt-000")
    assert not rows & _held_back(runtime.split_folder.answers)
    assert rows >= _held_back(made.answers)
    assert "sealed" not in printed
    assert "fold-1" not in printed
    assert f"shared folds: {len(rows)}" in printed
    assert made.sealed.stat().st_mode & 0o777 == 0o700


def test_a_run_on_a_fold_learns_from_the_other_rows(runtime: CampaignRuntime) -> None:
    """A run on a fold trains on the other rows, including the split's validation rows."""
    run = {"operator": Operator.FOLD, "fold": 1, "session": "script"}
    rows, printed = _seen(runtime, "fold-000", **run)
    assert rows >= _held_back(runtime.split_folder.answers)
    assert not rows & _held_back(make_fold(runtime.split_folder, 1).answers)
    assert "sealed" not in printed
    assert f"shared folds: {len(rows)}" in printed


_FILES = """
import pandas as pd
from pathlib import Path
listed = pd.read_csv("input/row_files/row_files.csv", keep_default_na=False)
for part in ("train", "validation", "test"):
    rows, own = pd.read_csv(f"input/small/{part}.csv"), listed[listed["part"] == part]
    assert own["id"].tolist() == rows["id"].tolist(), part
    assert all(Path("input/small", name).is_file() for name in own["image"])
    print(part, len(own))
"""


@pytest.mark.parametrize("operator", [Operator.DRAFT, Operator.FOLD, Operator.REFIT])
def test_each_kind_of_work_has_the_list_of_its_files(tmp_path: Path, operator: Operator) -> None:
    """A draft, a run on a fold and a refit read the files of the rows that they have."""
    folder = competition_folder(tmp_path)
    (folder / "public" / "images").mkdir()
    for part in ("train", "test"):
        for name in pd.read_csv(folder / "public" / f"{part}.csv")["id"]:
            Image.new("L", (2, 2), len(str(name))).save(folder / "public" / "images" / f"{name}.png")
    runtime = runtime_with_split(tmp_path / "project", folder)
    script = {"session": "script"} if operator is not Operator.DRAFT else {}
    fold = int(operator is Operator.FOLD)
    work = code().model_copy(update={"operator": operator, "fold": fold, **script})
    session = runtime.open_session(work, runtime.folder.work(f"{operator.value}-000"))
    try:
        result = session.run(_FILES, seconds=60)
    finally:
        session.close()
    assert result.status is CellStatus.OK, result.error
    rows = len(pd.read_csv(runtime.split_folder.public / "train.csv"))
    left = int(result.output.split()[1])
    assert (left > rows) == (operator is Operator.REFIT)


_SAMPLE = """
import pandas as pd
train, sample = (pd.read_csv(f"input/{name}/train.csv") for name in ("small", "sample"))
assert set(sample["id"]) < set(train["id"])
assert list(sample.columns) == list(train.columns)
assert len(pd.read_csv("input/sample/folds.csv")) == len(sample)
print(len(sample))
"""


@pytest.mark.parametrize("operator", [Operator.DRAFT, Operator.FOLD, Operator.REFIT])
def test_each_kind_of_work_has_a_sample_of_its_rows(tmp_path: Path, operator: Operator) -> None:
    """A script that reads the sample finds one of its own train.csv; the split knows how large it is."""
    runtime = runtime_with_split(tmp_path / "project", competition_folder(tmp_path, rows=4_000))
    assert runtime.problem.sample_rows == runtime.split.sample_rows == 360
    script = {"session": "script"} if operator is not Operator.DRAFT else {}
    fold = int(operator is Operator.FOLD)
    work = code().model_copy(update={"operator": operator, "fold": fold, **script})
    session = runtime.open_session(work, runtime.folder.work(f"{operator.value}-000"))
    try:
        result = session.run(_SAMPLE, seconds=60)
    finally:
        session.close()
    assert result.status is CellStatus.OK, result.error
    assert int(result.output) == (400 if operator is Operator.REFIT else 360)


_ATTACK = """
import os, sys
found, walked = [], set()
names = ("sealed", "further", "full", "validation_answers.csv", "campaign.yaml", "fold-1")
programs = ("/proc", "/sys", "/usr", "/lib", "/dev", sys.prefix, sys.base_prefix)
for place, folders, files in os.walk("/"):
    if place.startswith(programs):
        folders.clear()
        continue
    walked.add(place)
    found += [os.path.join(place, each) for each in (*folders, *files) if each in names]
    found += [os.path.join(place, each) for each in folders if each.endswith("-fold-1")]
assert os.getcwd() in walked
rows = set()
for place, _, files in os.walk("input", followlinks=True):
    for name in files:
        lines = open(os.path.join(place, name), errors="replace").read().splitlines()
        rows |= {line.split(",")[0] for line in lines if line.count(",") >= 2 and "train" in name}
for place in PLACES:
    try:
        found += os.listdir(place) if os.path.isdir(place) else [open(place).read()]
    except OSError:
        pass
print("FOUND", found)
print("LEARNT", *sorted(rows))
"""


@pytest.mark.parametrize(
    "operator", [Operator.DRAFT, Operator.ENSEMBLE, Operator.FOLD, Operator.BLEND, Operator.REFIT]
)
def test_no_kind_of_work_finds_a_sealed_part(runtime: CampaignRuntime, operator: Operator) -> None:
    """No kind of work reaches a sealed part by path; a run on a fold trains on none of its rows."""
    made, split = make_fold(runtime.split_folder, 1), runtime.split_folder
    number = 1 if operator is Operator.FOLD else 0
    script = operator not in (Operator.DRAFT, Operator.ENSEMBLE)
    work = code().model_copy(
        update={"operator": operator, "fold": number, "session": "script" if script else "notebook"}
    )
    places = [each for folder in (made, split) for each in (folder.answers, folder.sealed, folder.full)]
    places += [split.root, made.root, made.root.parent, runtime.project.root, runtime.folder.root]
    session = runtime.open_session(work, runtime.folder.work(f"{operator.value}-000"))
    try:
        result = session.run(_ATTACK.replace("PLACES", repr([str(each) for each in places])), seconds=60)
    finally:
        session.close()
    assert result.status is CellStatus.OK, result.error
    found, learnt = result.output.strip().splitlines()
    assert found == "FOUND []"
    rows, first, other = ({*learnt.split()[1:]}, _held_back(split.answers), _held_back(made.answers))
    assert bool(rows & first) == (operator in (Operator.FOLD, Operator.REFIT))
    assert bool(rows & other) == (operator is not Operator.FOLD)


@pytest.mark.parametrize(
    "spoil", ["the split's rows", "a row twice", "a row less", "no labels", "words"]
)
def test_a_submission_of_the_wrong_form_for_a_fold_is_refused(
    runtime: CampaignRuntime, tmp_path: Path, spoil: str
) -> None:
    """A submission with other rows or invalid labels has no score; one of the fold's rows has one."""
    made = make_fold(runtime.split_folder, 1)
    header, *rows = made.answers.read_text().splitlines()
    spoiled = {
        "the split's rows": runtime.split_folder.answers.read_text().splitlines()[1:],
        "a row twice": [*rows, rows[0]],
        "a row less": rows[:-1],
        "no labels": [row.split(",")[0] + "," for row in rows],
        "words": ["\0"],
    }
    test = runtime.split_folder.public / "sample_submission.csv"
    grader = runtime.grader_of(1)
    try:
        for name, lines, valid in (("right.csv", rows, True), ("wrong.csv", spoiled[spoil], False)):
            (tmp_path / name).write_text("\n".join([header, *lines]) + "\n")
            report = grader.grade(tmp_path / name, test)
            assert report.valid == valid, report
            assert (report.score is not None) == valid
    finally:
        runtime.close()
