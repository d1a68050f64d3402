"""A program is a metric: what is scored once is not run again, and its scores are the metric's."""

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import pandas as pd

from comind.authoring.generated_grader import ProgramMetric, _Runs
from comind.authoring.metric_checks import ScriptReport
from comind.authoring.script_runs import ScriptEvaluation
from comind.domain.metric import MetricTraits
from comind.domain.problem import AnswerKind
from comind.grading.blending.cross_fit import fit_blend
from comind.grading.submission_schema import SubmissionSchema
from comind.grading.true_answers import Answers
from comind.metrics import METRICS
from comind.metrics.parsing import parse_non_empty

_ROWS = 200


class _Accuracy:
    """A program that computes the accuracy, and refuses rows that appear twice."""

    def __init__(self) -> None:
        self.cases = 0

    def __call__(self, answers: Sequence[bytes], predictions: Sequence[bytes]) -> list[ScriptReport]:
        self.cases += len(answers)
        return [self._report(*each) for each in zip(answers, predictions, strict=True)]

    def _report(self, truth: bytes, guess: bytes) -> ScriptReport:
        tables = [pd.read_csv(io.BytesIO(each), dtype=str, index_col="id") for each in (truth, guess)]
        if not tables[0].index.is_unique or (tables[1]["y"] == "fail").any():
            return ScriptReport(score=None, success=False, message="no")
        score = float((tables[0]["y"] == tables[1]["y"]).mean())
        return ScriptReport(score=score, success=True)


def _world() -> tuple[_Accuracy, ProgramMetric, pd.DataFrame, list[pd.DataFrame]]:
    """Return a program, its metric, answers, and predictions that are right in three of four rows."""
    draw, program = np.random.default_rng(0), _Accuracy()
    metric = ProgramMetric(
        "share-right",
        "a program",
        _Runs(cast("ScriptEvaluation", program)),
        maximize=True,
        answer_kind=AnswerKind.LABEL,
        parse=parse_non_empty,
        context=("id",),
        traits=MetricTraits(means=("vote",)),
    )
    answers = pd.DataFrame({"id": map(str, range(_ROWS)), "y": draw.choice(["a", "b"], _ROWS)})
    other = answers["y"].map({"a": "b", "b": "a"})
    right = [draw.random(_ROWS) < 0.75 for _ in range(3)]
    return program, metric, answers, [pd.DataFrame({"y": answers["y"].where(r, other)}) for r in right]


def test_a_program_and_a_metric_give_one_score() -> None:
    """The same answers and predictions have the same score to the last digit, and no pair runs twice."""
    program, metric, answers, predictions = _world()
    schemas = (SubmissionSchema(answers, ["id"], ["y"], each) for each in (metric, METRICS["accuracy"]))
    written, known = (Answers(schema, answers) for schema in schemas)
    for prediction in predictions:
        scores = [each.score(prediction).score for each in (written, known)]
        assert None not in scores
        assert len({score.value.value for score in scores if score}) == 1
    cases = program.cases
    assert written.score(predictions[0]).valid
    assert program.cases == cases


def test_what_had_no_score_is_run_again() -> None:
    """A failure, which may be the machine's, is not remembered."""
    program, metric, answers, predictions = _world()
    for _ in range(2):
        assert np.isnan(metric.score_all(answers, [predictions[0].assign(y="fail")])).all()
    assert program.cases == 2


def test_a_program_selects_the_blend_that_the_metric_selects() -> None:
    """Of three independent predictions the vote of all is best, by whichever of both scores it."""
    program, metric, answers, predictions = _world()
    truth = answers[["y", "id"]]
    blends = [
        fit_blend(metric, truth, predictions),
        fit_blend(METRICS["accuracy"], truth[["y"]], predictions),
        fit_blend(replace(metric, traits=MetricTraits(means=())), truth, predictions),
    ]
    assert [sorted(each.members) for each in blends] == [[0, 1, 2], [0, 1, 2], []]
    assert [each.reason for each in blends[:2]] == ["", ""]
    assert program.cases < 200
