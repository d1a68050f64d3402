"""Folders that MLE-bench prepared are read unchanged and converted to competition folders."""

from pathlib import Path

import pandas as pd
import pytest

from comind.competitions.competition_folder import load_competition
from comind.errors import CompetitionError
from comind.grading.past_competition import grade_past
from comind.mlebench.catalog import find_benchmark_competition
from comind.mlebench.prepared import PreparedFolder, adapt
from comind.splits.checked_plan import check_competition


def _prepared(root: Path, name: str, **files: pd.DataFrame) -> PreparedFolder:
    """Write tables; `private_answers` goes to private/answers.csv, others to public/."""
    for key, table in files.items():
        part, _, stem = key.partition("_")
        path = root / name / "prepared" / part / f"{stem}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        table.to_csv(path, index=False)
    found = PreparedFolder.find(root, name)
    assert found is not None
    return found


def _cactus(root: Path) -> PreparedFolder:
    """Images: there is no test.csv, because the rows are files."""
    train = pd.DataFrame({"id": [f"{n}.jpg" for n in range(60)], "has_cactus": [0, 1] * 30})
    sample = pd.DataFrame({"id": [f"{n}.jpg" for n in range(60, 80)], "has_cactus": 0.5})
    return _prepared(
        root,
        "aerial-cactus-identification",
        public_train=train,
        public_sample_submission=sample,
        private_test=sample.assign(has_cactus=[0, 1] * 10),
    )


def _spooky(root: Path) -> PreparedFolder:
    """Classes: one column of train.csv becomes three of the submission."""
    train = pd.DataFrame(
        {"id": [f"id{n}" for n in range(60)], "text": "boo", "author": ["EAP", "HPL", "MWS"] * 20}
    )
    test = pd.DataFrame({"id": [f"id{n}" for n in range(60, 90)], "text": "boo"})
    thirds = test[["id"]].assign(EAP=0.4, HPL=0.3, MWS=0.3)
    truth = thirds.assign(EAP=1, HPL=0, MWS=0)
    return _prepared(
        root,
        "spooky-author-identification",
        public_train=train,
        public_test=test,
        public_sample_submission=thirds,
        private_test=truth,
    )


@pytest.mark.parametrize("make", [_cactus, _spooky])
def test_an_adapted_folder_is_one_of_ours(tmp_path: Path, make: type[PreparedFolder]) -> None:
    """The converted folder passes all checks, and its sample submission can be graded."""
    prepared = make(tmp_path / "data")
    folder = adapt(prepared.public, prepared.entry, tmp_path / "out", prepared.answers)
    competition = load_competition(folder)
    assert competition.metric == prepared.entry.metric
    plan = check_competition(competition)
    assert plan.data.targets == prepared.entry.targets
    grade = grade_past(competition, folder / "public" / "sample_submission.csv")
    assert grade.valid, grade.message
    assert grade.rank is None  # the test rows are a part of Kaggle's train.csv
    assert sorted(path.name for path in prepared.public.iterdir()) == sorted(
        path.name for path in (tmp_path / "data").glob("*/prepared/public/*")
    )


def test_a_metric_with_a_context_is_left_to_the_model(tmp_path: Path) -> None:
    """If train.csv alone cannot be scored, no metric is declared."""
    rows = pd.DataFrame({"id": range(9), "type": "x", "scalar_coupling_constant": 1.5})
    prepared = _prepared(
        tmp_path,
        "champs-scalar-coupling",
        public_train=rows,
        public_test=rows[["id", "type"]],
        public_sample_submission=rows[["id", "scalar_coupling_constant"]],
    )
    folder = adapt(prepared.public, prepared.entry, tmp_path / "out")
    assert load_competition(folder).metric is None


def test_a_metric_of_one_competition_can_be_named(tmp_path: Path) -> None:
    """Masks in train.csv are scored by their own metric; the split is created and graded."""
    rows = pd.DataFrame(
        {"id": [f"i{n}" for n in range(60)], "rle_mask": [f"{n + 1} 9" for n in range(60)]}
    )
    prepared = _prepared(
        tmp_path,
        "tgs-salt-identification-challenge",
        public_train=rows[:40],
        public_test=rows[["id"]][40:],
        public_sample_submission=rows[40:].assign(rle_mask=""),
        private_test=rows[40:],
    )
    folder = adapt(prepared.public, prepared.entry, tmp_path / "out", prepared.answers)
    competition = load_competition(folder)
    assert competition.metric == "iou-precision"
    check_competition(competition)
    grade = grade_past(competition, prepared.answers)
    assert (grade.score, grade.interval is not None) == (1.0, True)


def test_answers_are_found_under_their_names(tmp_path: Path) -> None:
    """The answers are in the file that the catalog names, else in answers.csv or test.csv."""
    prepared = _spooky(tmp_path)
    assert prepared.answers.name == "test.csv"
    odd = PreparedFolder(prepared.root, find_benchmark_competition("AI4Code"))
    with pytest.raises(CompetitionError, match=r"has no test_orders\.csv"):
        _ = odd.answers


@pytest.mark.parametrize(
    ("name", "line"),
    [("train.csv", "has no table of labels"), ("sample_submission.csv", "has no sample_submission.csv")],
)
def test_what_cannot_be_adapted_is_said(tmp_path: Path, name: str, line: str) -> None:
    """A missing file is reported in one line."""
    prepared = _spooky(tmp_path / "data")
    (prepared.public / name).unlink()
    with pytest.raises(CompetitionError, match=line):
        adapt(prepared.public, prepared.entry, tmp_path / "out")


def test_a_folder_is_recognised(tmp_path: Path) -> None:
    """`<id>`, `<id>/prepared` and the data folder with a name find the same; others find none."""
    prepared = _spooky(tmp_path)
    for path in (prepared.root, prepared.root.parent):
        found = PreparedFolder.find(path)
        assert found is not None
        assert found.root == prepared.root
    assert PreparedFolder.find(tmp_path) is None
    (tmp_path / "chess" / "prepared" / "public").mkdir(parents=True)
    with pytest.raises(CompetitionError, match="not one of the 75 competitions"):
        PreparedFolder.find(tmp_path / "chess")


def test_half_a_folder_is_none(tmp_path: Path) -> None:
    """A failed conversion leaves no partial folder."""
    prepared = _spooky(tmp_path / "data")
    (prepared.public / "train.csv").write_text("id,text\n1,a\n")  # no label in it
    with pytest.raises(CompetitionError, match=r"no column of train\.csv is a label"):
        adapt(prepared.public, prepared.entry, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
