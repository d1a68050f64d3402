"""Labels in other spellings are matched with the classes of train.csv, or refused."""

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.competitions.competition_folder import load_competition
from comind.competitions.data_warnings import data_warnings
from comind.competitions.label_spelling import (
    Spelling,
    differing_spellings,
    is_free_text,
    label_spellings,
)
from comind.errors import SubmissionError
from comind.grading.past_competition import grade_past
from comind.grading.submission_schema import SubmissionSchema
from comind.grading.true_answers import Answers
from comind.metrics import METRICS
from comind.splits.checked_plan import check_competition
from tests.unit.competitions.folders import competition_folder, write


def _matched(known: list[str], given: list[str]) -> list[str]:
    return Spelling(known).match(pd.Series(given)).tolist()


@pytest.mark.parametrize(
    ("known", "given", "meant"),
    [
        (
            ["True", "False"],
            ["true", "FALSE", "1", "0", " no", "Y", "t"],
            "True False True False False True True",
        ),
        (["0", "1"], ["True", "false", "1.0", "yes"], "1 0 1 1"),
        (["Yes", "No"], ["yes", "NO", "true", "0"], "Yes No Yes No"),
        (["cat", "Dog"], ["CAT", "dog", "cow"], "cat Dog cow"),
        (["a", "A"], ["a", "A"], "a A"),
        (["yes", "no", "maybe"], ["YES", "true"], "yes true"),
        (["\uff11", "2"], ["1", "2"], "\uff11 2"),
    ],
)
def test_an_unambiguous_spelling_is_read(known: list[str], given: list[str], meant: str) -> None:
    """Case, width and the words for true and false do not matter where one class alone is meant."""
    assert _matched(known, given) == meant.split()


def test_labels_of_no_class_are_refused() -> None:
    """If no label at all is a class, the line names the classes."""
    spelling = Spelling(["True", "False"])
    with pytest.raises(ValueError, match="such as 'wahr'; they are False, True"):
        spelling.check(spelling.match(pd.Series(["wahr", "falsch"])))


_CLASSES = st.lists(
    st.text(min_size=1, max_size=4).map(str.strip).filter(bool), min_size=2, max_size=4, unique=True
)


@given(known=_CLASSES, data=st.data())
def test_a_spelling_never_changes_a_class(known: list[str], data: st.DataObject) -> None:
    """Labels that are classes stay, and a spelled prediction scores as its class or is invalid."""
    train = pd.DataFrame({"label": [*known, *known]})
    spellings = label_spellings(train, ["label"], METRICS["accuracy"])
    classes = sorted(spellings["label"].known)
    assert spellings["label"].match(pd.Series(classes)).tolist() == classes
    truth = data.draw(st.lists(st.sampled_from(classes), min_size=1, max_size=6))
    rows = pd.DataFrame({"id": [str(row) for row in range(len(truth))], "label": truth})
    schema = SubmissionSchema(rows, ["id"], ["label"], METRICS["accuracy"], spellings)
    scorer = Answers(schema, rows)
    spelled = rows.assign(
        label=[data.draw(st.sampled_from([c, c.upper(), c.swapcase(), f" {c}"])) for c in truth]
    )
    try:
        report = scorer.score(schema.parse(spelled))
    except SubmissionError:
        return
    assert report.score is not None
    folds = [label.casefold() for label in classes]
    if len(set(folds)) == len(folds) and all(
        label.swapcase().casefold() == label.casefold() for label in classes
    ):
        assert report.score.value.value == 1.0


@pytest.mark.parametrize("spelled", [("YES", "NO"), ("true", "false"), ("1", "0"), ("y", "n")])
def test_a_submission_is_graded_in_any_spelling(tmp_path: Path, spelled: tuple[str, str]) -> None:
    """Of yes and no, every spelling has the same score, on the true answers as on validation."""
    competition = load_competition(competition_folder(tmp_path))
    answers = pd.read_csv(competition.answers, dtype=str)
    words = dict(zip(("yes", "no"), spelled, strict=True))
    answers.assign(label=answers["label"].map(words)).to_csv(tmp_path / "s.csv", index=False)
    assert grade_past(competition, tmp_path / "s.csv").score == 1.0


def test_a_submission_in_another_language_is_invalid(tmp_path: Path) -> None:
    """Labels that are no classes are no valid score of zero, but a line that names the classes."""
    competition = load_competition(competition_folder(tmp_path))
    answers = pd.read_csv(competition.answers, dtype=str)
    answers.assign(label="ja").to_csv(tmp_path / "s.csv", index=False)
    grade = grade_past(competition, tmp_path / "s.csv")
    assert not grade.valid
    assert "no label is a class of train.csv, such as 'ja'; they are no, yes" in grade.message


def test_the_sample_may_spell_otherwise(tmp_path: Path) -> None:
    """A sample submission with other words for the classes is noticed on arrival."""
    folder = competition_folder(tmp_path)
    ids = [
        line.split(",")[0]
        for line in (folder / "public/sample_submission.csv").read_text().splitlines()[1:]
    ]
    write(folder, "sample_submission.csv", ["id,label", *[f"{name},False" for name in ids]])
    plan = check_competition(load_competition(folder))
    assert data_warnings(plan.data) == (
        "column 'label': sample_submission.csv has 'False' where train.csv has 'no'; either is accepted",
    )


def test_texts_are_no_classes() -> None:
    """Hundreds of different texts are taken as they are."""
    train = pd.DataFrame({"label": [f"a text {row}" for row in range(200)]})
    assert label_spellings(train, ["label"], METRICS["accuracy"]) == {}
    assert differing_spellings(train, {}) == ()


@pytest.mark.parametrize(
    ("labels", "free"),
    [
        ([f"w{row}" for row in range(51)], True),
        ([f"w{row}" for row in range(50)], False),
        ([f"w{row % 60}" for row in range(119)], True),
        ([f"w{row % 60}" for row in range(120)], False),
        ([str(row) if row < 50 else f"w{row}" for row in range(100)], True),
        ([str(row) if row < 51 else f"w{row}" for row in range(100)], False),
        ([f"a b w{row % 1001}" for row in range(3003)], True),
        ([f"a b w{row % 1000}" for row in range(3000)], False),
        ([f"b w{row % 1001}" for row in range(3003)], False),
    ],
    ids=["51", "50", "119 rows", "120 rows", "half numbers", "numbers", "1001", "1000", "two words"],
)
def test_when_labels_are_texts(labels: list[str], *, free: bool) -> None:
    """Of more than 50, mostly no numbers, half are different, or more than 1,000 have three words."""
    assert is_free_text(pd.Series(labels), pd.DataFrame()) == free


@pytest.mark.parametrize(("copied", "free"), [(36, True), (35, False)])
def test_a_fifth_of_texts_are_those_of_another_column(copied: int, *, free: bool) -> None:
    """Labels that repeat are texts if a fifth of the rows have the same text in another column."""
    labels = pd.Series([f"w{row % 60}" for row in range(180)])
    other = pd.DataFrame({"x": labels.where(labels.index < copied, "v")})
    assert is_free_text(labels, other) == free
