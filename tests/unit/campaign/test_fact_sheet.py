"""The sheet of facts holds what recorded cells measured, and reaches work as it was planned."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from comind.baseline.recipe_programs import Program
from comind.campaign.baseline_first import BaselineFirst, seen_by_agents
from comind.campaign.fact_sheet import measured_facts
from comind.campaign.log.campaign_events import CampaignEvent, WorkPlanned
from comind.campaign.log.campaign_state import CAMPAIGN_LOG, CampaignState
from comind.campaign.log.measurements import models_of_cells, seconds_of_models
from comind.campaign.log.outcome import CellTiming, CodeOutcome
from comind.campaign.log.work import Code
from comind.campaign.loop import run
from comind.campaign.worker import execute
from comind.domain.draft import Operator
from comind.domain.metric import Interval, MetricValue, ValidationScore
from comind.eventlog.log import read_log
from comind.grading.grader_port import GradeReport, ScoreBreakdown, SubsetScore
from comind.testing import ColumnGrader, ThreadExecutor
from tests.unit.agents.rounds import attempt, baseline, state_of
from tests.unit.campaign.samples import code, failed, scored, split_made
from tests.unit.campaign.world import World

_PARTS = (
    ScoreBreakdown(
        by="target",
        count=2,
        worst=(
            SubsetScore(name="gap", value=0.125, share=0.5),
            SubsetScore(name="energy", value=0.041, share=0.5),
        ),
    ),
)
_VOTING = "[Voting] ..... (1 of 2) Processing boosting, total=   1.5s\n"


def _timed(value: float, seconds: float, **values: object) -> CodeOutcome:
    """Return the outcome of an attempt whose best step took so long."""
    timing = CellTiming.model_validate(
        {"step": 1, "seconds": seconds, "score": MetricValue(value=value, maximize=True), **values}
    )
    return scored(value).model_copy(update={"timings": (timing,)})


def _texts(state: CampaignState) -> list[str]:
    return [f"[{each.source}] {each.text}" for each in measured_facts(state).facts]


def test_the_baseline_tells_its_seconds_and_its_error_by_part() -> None:
    """Seconds of each of its models, its score, and the score of each target are the first facts."""
    outcome = _timed(0.7, 12.3, of_models={"boosting": 3.0, "trees": 9.04})
    state = state_of(*baseline(outcome.model_copy(update={"parts": _PARTS})))
    ran, by_target = _texts(state)
    assert ran == (
        "[attempt-000] The baseline ran 12 s and scored 0.7; fitting its models: boosting 3.0 s, "
        "trees 9.0 s"
    )
    assert by_target == (
        "[attempt-000] The baseline's score by target, the worst first: gap 0.125, energy 0.041"
    )


def test_attempts_tell_seconds_score_models_and_folds_the_best_first() -> None:
    """Of each attempt the step of its result is told; parts of the best attempt alone."""
    best = _timed(
        0.9, 40, models=("LGBMClassifier",), out_of_fold=MetricValue(value=0.88, maximize=True)
    )
    best = best.model_copy(update={"parts": _PARTS, "code_seconds": 60.0})
    other = _timed(0.8, 2.04).model_copy(update={"parts": _PARTS})
    events = (*baseline(), *attempt(1, code("a"), other), *attempt(2, code("b"), best))
    ran, by_target, second = _texts(state_of(split_made(folds=5), *events))
    assert ran == (
        "[attempt-002] Step 1 ran 40 s (60 s with the cells that it follows) and scored 0.9; models "
        "that these make: LGBMClassifier; out of fold 0.88, at most 12 s for each of 5 folds"
    )
    assert by_target.startswith("[attempt-002] The best score by target, the worst first: gap 0.125")
    assert second == "[attempt-001] Step 1 ran 2.0 s and scored 0.8"


def test_the_seconds_of_the_preparation_are_told() -> None:
    """The latest preparation that ran to its end is told; one that failed is not."""
    first, second, third = (
        scored(0.8).model_copy(update={"prepared_seconds": each}) for each in (9.0, 31.0, None)
    )
    works = [
        attempt(number, code(str(number)), each) for number, each in enumerate((first, second, third))
    ]
    assert _texts(state_of(*(event for each in works for event in each))) == [
        "[attempt-001] The preparation ran 31 s, once in each attempt that begins with it"
    ]


def test_what_failed_or_was_rejected_or_runs_is_no_fact() -> None:
    """Attempts without a score, rejected ones, running ones and those of older logs give no line."""
    rejected = _timed(0.99, 5).model_copy(update={"rejected": "the checker: labels leak"})
    state = state_of(
        *baseline(),
        *attempt(1, code("a"), failed()),
        *attempt(2, code("b"), rejected),
        *attempt(3, code("c"), scored(0.9)),
        *attempt(4, code("d"), None),
    )
    assert _texts(state) == []
    assert _texts(state_of(*attempt(0, code(), rejected))) == [], "also where no other has a score"


def test_closing_work_is_no_fact() -> None:
    """Folds, blends and refits, which know more labels, give no line."""
    work = code("fold").model_copy(update={"operator": Operator.FOLD, "parents": ("attempt-000",)})
    assert _texts(state_of(*baseline(), *attempt(1, work, _timed(0.9, 5)))) == []


def test_a_sheet_has_ten_lines() -> None:
    """Of many attempts the best are told, after all of the baseline."""
    events: list[CampaignEvent] = [*baseline(_timed(0.1, 1).model_copy(update={"parts": _PARTS}))]
    for number in range(1, 20):
        events += attempt(number, code(str(number)), _timed(0.5 + number / 100, 1))
    texts = _texts(state_of(*events))
    assert len(texts) == 10
    assert texts[2].startswith("[attempt-019] Step 1 ran 1.0 s and scored 0.69")


def test_facts_of_a_hidden_baseline_are_told_to_nobody() -> None:
    """What agents do not see gives no line either."""
    state = state_of(*baseline(_timed(0.7, 1)), baseline="hidden")
    assert _texts(seen_by_agents(state)) == []
    assert len(_texts(state)) == 1


@dataclass
class _Slow:
    """A cell of two seconds that writes submissions and prints as the baseline does."""

    score: str

    def __call__(self, workspace: Path) -> list[tuple[float, str]]:
        """Write the files and return what it prints."""
        for name, content in (
            ("validation_submission.csv", self.score),
            ("submission.csv", "test rows"),
            ("out_of_fold.csv", "0.2"),
        ):
            (workspace / name).write_text(content)
        return [(2.0, _VOTING)]


class _PartsGrader(ColumnGrader):
    """Adds parts, and an interval by which scores are rounded."""

    def grade(self, validation: Path, test: Path) -> GradeReport:
        """Return the number in the file as its score, with parts."""
        report = super().grade(validation, test)
        if report.score is None:
            return report
        value = report.score.value
        around = Interval(low=value.value - 0.2, high=value.value + 0.2)
        score = ValidationScore(metric="written", value=value, interval=around, rows=100)
        return report.model_copy(update={"score": score, "parts": _PARTS})


def test_cells_are_measured_as_they_ran(tmp_path: Path) -> None:
    """An attempt's outcome has seconds, score in its shown digits, and models of its scored steps."""
    good = "import lightgbm as lgb\nlgb.LGBMClassifier().fit(x, y)"
    line = "from sklearn.linear_model import Ridge\nRidge().fit(x, y)"
    cells = {
        good: _Slow("0.123456"),
        line: lambda _: [(2.0, "fits")],
        "slow": lambda _: [(7.0, "claims: ran 1 s, score 0.99")],
    }
    script = [json.dumps({"code": each}) for each in ("slow", line, "words", good)]
    world = World(tmp_path, script, cells=cells, grader=_PartsGrader())
    folder = world.folder.work("attempt-000")
    outcome = execute(world.agent, code(steps=4), folder, world.dependencies())
    assert isinstance(outcome, CodeOutcome)
    [timing] = outcome.timings
    assert timing.step == 4
    assert str(timing.score) == "0.12"
    assert str(timing.out_of_fold) == "0.2"
    assert timing.models == ("LGBMClassifier", "Ridge")
    assert timing.of_models == {}, "only the baseline's own program is believed"
    assert outcome.parts == _PARTS
    [told, by_target] = _texts(state_of(*attempt(0, code(), outcome)))
    assert told == (
        "[attempt-000] Step 4 ran 2.0 s (11 s with the cells that it follows) and scored 0.12; models "
        "that these make: LGBMClassifier, Ridge; out of fold 0.2"
    )
    assert "99" not in told + by_target
    assert "123456" not in told + by_target


def test_planned_work_has_the_facts_of_its_time(tmp_path: Path) -> None:
    """Each planned work has what the log says of the attempts before it; so has it in a replay."""
    world = World(tmp_path, cells={"recipe": _Slow("0.4")})
    campaign = world.campaign(iterations=2, coders=1)
    program = Program(name="table", code="recipe")
    dependencies = world.dependencies(baseline=lambda: (program,))
    executor = ThreadExecutor(world.folder, world.agent, dependencies)
    run(campaign, BaselineFirst(world.agent), executor)
    campaign.close()
    state, told = CampaignState(), []
    for record in read_log(world.folder.log, CAMPAIGN_LOG.events):
        if isinstance(record.event, WorkPlanned) and record.event.id != "attempt-000":
            assert record.event.work.measured == measured_facts(state)
            told.append(record.event.work.measured)
        state = CAMPAIGN_LOG.apply(state, record)
    first = "The baseline ran 2.0 s and scored 0.4; fitting its models: boosting 1.5 s"
    assert [each.text for each in told[0].facts] == [first]
    assert [each.source for each in told[-1].facts] == ["attempt-000", "attempt-001"]


def test_work_of_older_logs_has_no_facts() -> None:
    """Work without the field is read, and work without facts is written without it."""
    work = code()
    assert "measured" not in work.model_dump()
    assert Code.model_validate(work.model_dump()).measured.facts == ()


def test_seconds_of_models_are_summed_over_targets() -> None:
    """An ensemble is fitted for each target; what else is printed does not count."""
    text = _VOTING + "Processing nets, total= 9s\n" + _VOTING.replace("1.5s", "1.0min")
    assert seconds_of_models(text) == {"boosting": 61.5}


@pytest.mark.parametrize(
    ("cells", "made"),
    [
        (["from sklearn.linear_model import Ridge\nRidge().fit(x, y)"], ("Ridge",)),
        (["import lightgbm as lgb", "lgb.train({}, lgb.Dataset(x))"], ("lightgbm",)),
        (
            ["from catboost import CatBoostRegressor as C, Pool", "C().fit(Pool(x))"],
            ("CatBoostRegressor",),
        ),
        (["import sklearn.svm\nsklearn.svm.SVC()"], ("SVC",)),
        (["from sklearn import ensemble\nensemble.ExtraTreesClassifier()"], ("ExtraTreesClassifier",)),
        (["import torch.nn as nn\nnet = nn.Linear(1, 1)"], ("torch",)),
        (
            [
                "from xgboost import XGBClassifier\ndef fit(x):\n    return XGBClassifier().fit(x)",
                "fit(1)",
            ],
            ("XGBClassifier",),
        ),
        (["from xgboost import XGBClassifier\ndef fit(x):\n    return XGBClassifier().fit(x)"], ()),
        (
            [
                "def folds(make):\n    return make()\ndef best():\n    return make_pipeline(model())",
                "from sklearn.svm import SVR\ndef model():\n    return SVR()\nfolds(best)",
            ],
            ("SVR",),
        ),
        (["from sklearn.preprocessing import StandardScaler\nStandardScaler().fit(x)"], ()),
        (["# LGBMRegressor is what I fit\nprint('CatBoostRegressor()')"], ()),
        (["this is no Python"], ()),
    ],
)
def test_models_are_known_by_what_is_called(cells: list[str], made: tuple[str, ...]) -> None:
    """Classes of libraries that are called count, also by functions of earlier cells; words do not."""
    assert models_of_cells(cells)[-1] == made


def test_long_names_are_no_burden() -> None:
    """A call of a thousand parts is no model, and the name of a model is shown in 40 characters."""
    name = "A" * 300
    code = f"import lightgbm\nlightgbm{'.b' * 1_000}()\nlightgbm.{name}()"
    assert models_of_cells([code]) == [(name[:40],)]


def test_goals_are_no_facts() -> None:
    """What a model wrote, such as title, goal and report, is on no sheet."""
    outcome = _timed(0.9, 3).model_copy(update={"report": "CLAIM", "title": "CLAIM"})
    work = code("CLAIM").model_copy(update={"role": "coder"})
    assert "CLAIM" not in "".join(_texts(state_of(*attempt(0, work, outcome))))


def test_an_attempt_0_with_facts_is_the_platforms() -> None:
    """Attempts of an agent are none of the baseline."""
    own = code().model_copy(update={"role": "coder"})
    sheet = measured_facts(state_of(*attempt(0, own, _timed(0.9, 3))))
    assert sheet.baseline == ()
    assert sheet.of_baseline().facts == ()
    known = measured_facts(state_of(*baseline(_timed(0.9, 3))))
    assert known.of_baseline() == known
