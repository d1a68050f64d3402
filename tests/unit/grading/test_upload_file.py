"""The file to upload has labels in the spelling of the sample submission."""

from pathlib import Path

import pandas as pd
import pytest

from comind.competitions.competition_folder import load_competition
from comind.competitions.label_spelling import Spelling
from comind.grading.submission_schema import like_sample, spelled_like
from comind.splits.split_files import make_split
from tests.unit.competitions.folders import competition_folder


@pytest.mark.parametrize(
    ("known", "sample", "expected"),
    [
        (["True", "False"], ["false"], {"False": "false", "True": "true"}),
        (["True", "False"], ["0", "1"], {"False": "0", "True": "1"}),
        (["True", "False"], ["0"], {"False": "0", "True": "1"}),
        (["0", "1"], ["FALSE"], {"0": "FALSE", "1": "TRUE"}),
        (["no", "yes"], ["No"], {"no": "No", "yes": "Yes"}),
        (["no", "yes"], ["no"], {}),
        (["a", "b", "c"], ["A"], {"a": "A", "b": "B", "c": "C"}),
        (["a", "b", "c"], ["x"], {}),
        (["0", "1"], ["0.0"], {}),
        (["0", "1"], [""], {}),
        (["Oslo", "oslo"], ["OSLO"], {}),
    ],
)
def test_classes_are_spelled_as_in_the_sample(
    known: list[str], sample: list[str], expected: dict[str, str]
) -> None:
    """One class of the sample shows how the others are spelled, unless that is unclear."""
    assert spelled_like(pd.Series(sample), Spelling(known)) == expected


def test_a_positive_class_is_spelled_as_in_the_sample() -> None:
    """Where the sample has 0, dogs are 1."""
    spelling = Spelling(["dog", "cat"], "dog")
    assert spelled_like(pd.Series(["0"]), spelling) == {"cat": "0", "dog": "1"}


def test_a_submission_is_respelled(tmp_path: Path) -> None:
    """Labels change, ids do not; one in the sample's spelling stays the same object."""
    folder = competition_folder(tmp_path)
    sample = pd.read_csv(folder / "public/sample_submission.csv", dtype=str)
    sample.assign(label="FALSE").to_csv(folder / "public/sample_submission.csv", index=False)
    split = make_split(load_competition(folder), tmp_path / "splits", seed=0)
    submission = sample.assign(label=["yes", "no"] * (len(sample) // 2))
    found = like_sample(submission, split)
    assert list(found["label"]) == ["TRUE", "FALSE"] * (len(sample) // 2)
    assert found["id"].equals(submission["id"])
    assert like_sample(found, split) is found
