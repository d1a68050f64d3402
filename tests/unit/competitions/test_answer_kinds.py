"""The type of answers of a competition without a metric, by its labels and the sample submission."""

from pathlib import Path

import pandas as pd
import pytest

from comind.competitions.data import CompetitionData, _infer_answer_kind
from comind.domain.competition import Competition
from comind.domain.problem import AnswerKind
from comind.metrics import MetricInfo


def _kind(labels: list[str], sample: str) -> AnswerKind:
    competition = Competition(
        folder=Path("small"),
        id="small",
        title="Small",
        id_columns=("id",),
        label_columns=("y",),
        target_columns=("y",),
    )
    rows = pd.DataFrame({"id": [str(row) for row in range(len(labels))]})
    metric = MetricInfo(name="unknown", maximize=True, answer_kind=AnswerKind.LABEL)
    tables = rows.assign(y=labels), rows, rows.assign(y=sample)
    return _infer_answer_kind(CompetitionData(competition, *tables, metric))


@pytest.mark.parametrize(
    ("labels", "sample", "kind"),
    [
        ([str(row % 2) for row in range(60)], "0.5", AnswerKind.PROBABILITY),
        ([str(row % 2) for row in range(60)], "0", AnswerKind.LABEL),
        ([str(row % 3) for row in range(60)], "0.5", AnswerKind.LABEL),
        ([str(row % 20) for row in range(60)], "0", AnswerKind.LABEL),
        ([str(row % 21) for row in range(60)], "0", AnswerKind.NUMBER),
        ([f"{row % 2}.5" for row in range(60)], "0", AnswerKind.NUMBER),
        ([f"w{row % 20}" for row in range(60)], "w0", AnswerKind.LABEL),
        ([f"w{row % 21}" for row in range(60)], "w0", AnswerKind.TEXT),
        ([f"w{row % 40}" for row in range(400)], "w0", AnswerKind.LABEL),
        ([f"w{row % 41}" for row in range(400)], "w0", AnswerKind.TEXT),
    ],
    ids=["two", "two as labels", "three", "20", "21", "halves", "words", "texts", "a tenth", "more"],
)
def test_the_kind_of_answers(labels: list[str], sample: str, kind: AnswerKind) -> None:
    """Up to 20 whole numbers, and 20 words or as many as a tenth of the rows, are classes."""
    assert _kind(labels, sample) is kind
