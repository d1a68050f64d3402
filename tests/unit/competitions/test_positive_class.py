"""Two text classes are scored as 1 and 0 where one is known to be positive; texts are no classes."""

from pathlib import Path

import pandas as pd
import pytest
import yaml

from comind.app.inspection import inspect_competition
from comind.competitions.competition_folder import load_competition
from comind.competitions.label_spelling import is_free_text
from comind.competitions.positive_class import infer_positive_class
from comind.domain.problem import AnswerKind
from comind.errors import CompetitionError
from comind.grading.grader_server import SplitGrader
from comind.grading.past_competition import grade_past
from comind.splits.checked_plan import check_competition
from comind.splits.split_files import make_split
from tests.unit.competitions.folders import competition_folder


def _relabelled(root: Path, words: dict[str, str], **changes: object) -> Path:
    """Write a competition with other words for yes and no."""
    folder = competition_folder(root, **changes)
    for name in ("public/train.csv", "public/sample_submission.csv", "private/answers.csv"):
        table = pd.read_csv(folder / name, dtype=str)
        if "label" in table:
            table["label"] = table["label"].map(words)
        table.to_csv(folder / name, index=False)
    return folder


@pytest.mark.parametrize("metric", ["roc-auc", "log-loss", "average-precision"])
def test_probabilities_of_text_classes_are_scored(tmp_path: Path, metric: str) -> None:
    """Of yes and no, probabilities have the score of 1 and 0, also if answers are so."""
    scores = []
    for name, words in (
        ("words", {"yes": "yes", "no": "no"}),
        ("numbers", {"yes": "1", "no": "0"}),
        ("booleans", {"yes": "True", "no": "False"}),
        ("mixed", {"yes": "yes", "no": "no"}),
    ):
        folder = _relabelled(tmp_path / name, words, metric=metric)
        answers = pd.read_csv(folder / "private/answers.csv", dtype=str)
        if name == "mixed":
            coded = answers.assign(label=answers["label"].map({"yes": "1", "no": "0"}))
            coded.to_csv(folder / "private/answers.csv", index=False)
        answers.assign(label=[i / 10 for i in range(len(answers))]).to_csv(
            tmp_path / "s.csv", index=False
        )
        competition = load_competition(folder)
        check_competition(competition)
        scores.append(grade_past(competition, tmp_path / "s.csv").score)
    assert len(set(scores)) == 1
    assert scores[0] is not None


def test_the_split_grades_probabilities_of_text_classes(tmp_path: Path) -> None:
    """The grader of a split scores them, and so do further folds and out-of-fold predictions."""
    folder = _relabelled(
        tmp_path, {"yes": "dog", "no": "cat"}, rows=200, metric="roc-auc", positive_class="dog"
    )
    split = make_split(load_competition(folder), tmp_path / "splits", seed=0)
    assert split.read().positive_class == "dog"
    answers = pd.read_csv(split.answers, dtype=str)
    perfect = answers.assign(label=(answers["label"] == "dog").astype(float))
    perfect.to_csv(tmp_path / "validation.csv", index=False)
    test = pd.read_csv(split.sample, dtype=str).assign(label=0.5)
    test.to_csv(tmp_path / "test.csv", index=False)
    report = SplitGrader(split).grade(tmp_path / "validation.csv", tmp_path / "test.csv")
    assert report.score is not None
    assert report.score.value.value == 1.0


@pytest.mark.parametrize("words", [("dog", "cat"), ("1", "0"), ("DOG", "Cat")])
def test_f1_of_text_classes_takes_words_and_numbers(tmp_path: Path, words: tuple[str, str]) -> None:
    """F1 is of the positive class, whether a submission has its name or 1."""
    folder = _relabelled(tmp_path, {"yes": "dog", "no": "cat"}, metric="f1", positive_class="dog")
    answers = pd.read_csv(folder / "private/answers.csv", dtype=str)
    named = answers.assign(label=answers["label"].map({"dog": words[0], "cat": words[1]}))
    named.loc[0, "label"] = words[0]
    named.to_csv(tmp_path / "s.csv", index=False)
    truly = int((answers["label"] == "dog").sum())
    wrong = int(answers["label"].iloc[0] != "dog")
    score = grade_past(load_competition(folder), tmp_path / "s.csv").score
    assert score == pytest.approx(2 * truly / (2 * truly + wrong))


def test_an_open_positive_class_is_asked_for(tmp_path: Path) -> None:
    """Cats or dogs may be what is asked for: one line says which key decides."""
    folder = _relabelled(tmp_path, {"yes": "dog", "no": "cat"}, metric="roc-auc")
    with pytest.raises(CompetitionError, match="'cat' or 'dog' may be the positive class") as error:
        check_competition(load_competition(folder))
    assert "positive_class: 'dog'" in error.value.hint


@pytest.mark.parametrize(
    ("classes", "text", "expected"),
    [
        (["no", "yes"], "", "yes"),
        (["TRUE", "FALSE"], "", "TRUE"),
        (["-1", "1"], "", "1"),
        (["0", "1"], "", ""),
        (["0.2", "0.9"], "", ""),
        (["a", "b", "c"], "", ""),
        (["dog", "cat"], "Predict a label for each picture (1 = dog, 0 = cat).", "dog"),
        (["Dog", "Cat"], "Submit the probability that image is a dog.", "Dog"),
        (["spam", "ham"], "The label `spam` is 1.", "spam"),
    ],
)
def test_the_positive_class_is_inferred_where_sure(classes: list[str], text: str, expected: str) -> None:
    """Pairs of booleans have a positive one; otherwise the description may state it."""
    cells = pd.Series([*classes, *classes], name="label")
    assert infer_positive_class(cells, given=None, text=text) == expected


@pytest.mark.parametrize("text", ["", "The probability of a dog or a cat.", "1 = dog. Later 1 = cat."])
def test_a_doubtful_description_does_not_decide(text: str) -> None:
    """A wrong positive class would turn the score around, so doubt is asked about."""
    with pytest.raises(CompetitionError, match="may be the positive class"):
        infer_positive_class(pd.Series(["dog", "cat"], name="label"), given=None, text=text)


def test_splits_of_competitions_without_the_key_keep_their_names(tmp_path: Path) -> None:
    """A key that is not set is no part of the hash that names a split."""
    competition = load_competition(competition_folder(tmp_path))
    assert "positive_class" not in competition.model_dump_json()


def test_accuracy_on_texts_is_exact_match(tmp_path: Path) -> None:
    """Normalised words are kept as texts: in plan, report, grader and grading of past competitions."""
    folder = competition_folder(tmp_path, rows=400, split=None)
    words = [f"word{row % 150}" for row in range(410)]
    for name, first in (("train", 0), ("test", 400)):
        path = folder / f"public/{name}.csv"
        table = pd.read_csv(path, dtype=str)
        rows = words[first : first + len(table)]
        table["x"] = rows
        if "label" in table:
            table["label"] = [w if row % 3 else f"normal {w}" for row, w in enumerate(rows)]
        table.to_csv(path, index=False)
    plan = check_competition(load_competition(folder))
    assert plan.data.metric.name == inspect_competition(folder)["metric"] == "exact-match"
    assert plan.data.metric.answer_kind is AnswerKind.TEXT
    grade = grade_past(load_competition(folder), folder / "private/answers.csv")
    assert (grade.metric, grade.score) == ("exact-match", 1.0)


@pytest.mark.parametrize(
    ("labels", "free"),
    [
        ([f"w_{row % 400}" for row in range(1200)], False),
        ([f"{row}" for row in range(1200)], False),
        ([f"a sentence number {row % 1100}" for row in range(3000)], True),
        ([f"text {row}" for row in range(200)], True),
        (["yes", "no"] * 100, False),
    ],
)
def test_free_text_is_distinguished_from_classes(labels: list[str], free: bool) -> None:
    """Hundreds of identifiers that repeat are classes; texts are mostly unique, sentences, or copies."""
    assert is_free_text(pd.Series(labels), pd.DataFrame(index=range(len(labels)))) is free


def test_the_key_is_read_from_yaml(tmp_path: Path) -> None:
    """A class that train.csv does not have is refused in one line."""
    folder = competition_folder(tmp_path, metric="roc-auc", positive_class="maybe")
    assert yaml.safe_load((folder / "competition.yaml").read_text())["positive_class"] == "maybe"
    with pytest.raises(CompetitionError, match="the positive class 'maybe' is not one of two classes"):
        check_competition(load_competition(folder))
