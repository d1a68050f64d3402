"""Steps on the sample: a class of their own, which nothing takes for a full one."""

from pathlib import Path
from typing import Any

import pytest

from comind.campaign.log.campaign_events import WorkFinished, WorkPlanned
from comind.campaign.log.outcome import CodeOutcome, SamplePredictions
from comind.campaign.log.sample_steps import best_on_sample, uses_sample
from comind.campaign.log.work_events import (
    WORK_EVENTS,
    CellEnded,
    CellStarted,
    Graded,
    SampleGraded,
    WorkEvent,
)
from comind.campaign.log.work_state import WORK_LOG, AttemptState
from comind.campaign.reports.campaign_view import read_view
from comind.campaign.reports.tuning import Tuning, tuning_of
from comind.campaign.work.hand_in import FilesHandedIn
from comind.campaign.worker import execute
from comind.cli.main import main
from comind.domain.draft import Operator
from comind.domain.spend import Budget
from comind.errors import ModelServiceError
from comind.eventlog.log import read_log
from comind.grading.grader_port import GradeReport
from comind.session.session_ports import CellResult, CellStatus
from tests.unit.agents.rounds import state_of
from tests.unit.campaign.samples import code, score, scored, split_made
from tests.unit.campaign.work_logs import records_of
from tests.unit.campaign.world import World, hand_in, on_sample, reply

_FIT_ON_SAMPLE = "('input/sample/train.csv')"
_CELLS: dict[str, object] = {
    f"{name}{_FIT_ON_SAMPLE}": cell
    for name, cell in {
        "fast": on_sample("0.8"),
        "faster": on_sample("0.99"),
        "wrong": on_sample("words"),
        "half": on_sample("0.7", "submission.csv"),
        "both": on_sample("0.6", "submission.csv", "validation_submission.csv"),
        "mixed": hand_in("0.4"),
    }.items()
} | {"unread": on_sample("0.97")}


def _world(root: Path, *names: str, **values: Any) -> World:
    """Script the cells of these names; those that fit on the sample name it."""
    cells = [next((code for code in _CELLS if code == name + _FIT_ON_SAMPLE), name) for name in names]
    given: dict[str, Any] = {"hand_in": FilesHandedIn(sample=True), "cells": _CELLS} | values
    return World(root, [reply(each) for each in cells], **given)


def _attempt(root: Path, *cells: str, **values: Any) -> tuple[CodeOutcome, AttemptState]:
    world, folder = _world(root, *cells, **values), World(root).folder.work("attempt-000")
    outcome = execute(world.agent, code(steps=len(cells)), folder, world.dependencies())
    assert isinstance(outcome, CodeOutcome)
    return outcome, WORK_LOG.read(folder.log)


def test_a_better_score_on_the_sample_is_not_the_best(tmp_path: Path) -> None:
    """The result is the only full step, although a step on the sample has a higher score."""
    outcome, state = _attempt(tmp_path, "good", "faster")
    assert outcome.score is not None
    assert outcome.score.value.value == 0.9
    assert outcome.submitted is not None
    assert outcome.submitted.step == 1
    assert [timing.step for timing in outcome.timings] == [1]
    [full, fast] = state.cells
    assert (fast.submitted, fast.report, fast.gain, full.sample) == (None, None, None, None)
    assert fast.sample is not None
    assert fast.sample.shown == "sample written 0.99 [0.99, 0.99]"
    assert [cell.result for cell in outcome.cells][1] == "sample written 0.99 [0.99, 0.99]"


def test_steps_on_the_sample_are_compared_with_each_other_alone(tmp_path: Path) -> None:
    """A gain is over the best step on the sample before, and full steps are compared with full ones."""
    _, state = _attempt(tmp_path, "good", "fast", "poor", "faster", "fast", "better")
    gains = [each.sample.gain if each.sample else each.gain for each in state.cells]
    assert [gain and round(gain.difference, 2) for gain in gains] == [
        None,
        None,
        -0.4,
        0.19,
        -0.19,
        0.05,
    ]
    best = best_on_sample(state.cells)
    assert best is not None
    assert best.step == 4


def test_an_attempt_of_steps_on_the_sample_has_no_result(tmp_path: Path) -> None:
    """Without a full step there is nothing to submit, to pick or to blend."""
    outcome, state = _attempt(tmp_path, "fast", "faster")
    assert (outcome.score, outcome.submitted, state.best, state.leader) == (None, None, None, None)
    assert outcome.code == ""
    assert outcome.failure is not None
    assert outcome.failure.message == "2 steps and no pair of submissions"


def test_predictions_that_cannot_be_scored_have_a_reason(tmp_path: Path) -> None:
    """An invalid file is graded as such, and is not the best on the sample."""
    _, state = _attempt(tmp_path, "wrong")
    [cell] = state.cells
    assert cell.sample is not None
    assert cell.sample.shown == "sample_predictions.csv is not a number"
    assert best_on_sample(state.cells) is None


def test_a_cell_is_of_one_class(tmp_path: Path) -> None:
    """With half of a pair it is refused; with a pair it is a full step, and its output says so."""
    outcome, state = _attempt(tmp_path, "half", "both")
    half, both = state.cells
    assert (half.sample, half.submitted, both.sample) == (None, None, None)
    assert half.refused.startswith("validation_submission.csv: there is no such file")
    assert both.result is not None
    assert both.result.output.endswith(
        "sample_predictions.csv was not scored, as this cell handed in a pair of submissions"
    )
    assert outcome.score is not None
    assert outcome.score.value.value == 0.6


def test_without_a_sample_the_file_is_any_other(tmp_path: Path) -> None:
    """In a campaign whose split has no sample nothing is graded for it, and no cell uses one."""
    _, state = _attempt(tmp_path, "fast", "mixed", hand_in=FilesHandedIn())
    assert [(cell.sample, cell.uses_sample) for cell in state.cells] == [(None, False)] * 2


def test_predictions_of_a_cell_that_does_not_use_the_sample_are_refused(tmp_path: Path) -> None:
    """They are not graded, so that they reveal nothing, and are none of the evaluations."""
    budget = Budget(seconds=3600.0, evaluations=3)
    _, state = _attempt(tmp_path, "unread", "fast", budget=budget)
    unread, fast = state.cells
    assert (unread.sample, unread.refused) == (
        None,
        "sample_predictions.csv: the code of this cell uses no rows of input/sample/",
    )
    assert not World(tmp_path).folder.work("attempt-000").sample_predictions(1).is_file()
    assert fast.sample is not None
    assert state.spend.evaluations == 1


@pytest.mark.parametrize("operator", [Operator.REFIT, Operator.FOLD, Operator.BLEND])
def test_work_of_the_closing_phase_has_no_steps_on_the_sample(
    operator: Operator, tmp_path: Path
) -> None:
    """Its models may have seen the labels of the validation rows."""
    world, folder = _world(tmp_path), World(tmp_path).folder.work("work-000")
    draft = code().draft.model_copy(update={"codebase": f"fast{_FIT_ON_SAMPLE}"})
    work = code().model_copy(update={"operator": operator, "draft": draft})
    execute(world.agent, work, folder, world.dependencies())
    [cell] = WORK_LOG.read(folder.log).cells
    assert (cell.sample, cell.uses_sample) == (None, False)


def test_a_step_on_the_sample_is_one_of_the_evaluations(tmp_path: Path) -> None:
    """Its grading is numbered and limited as others are."""
    budget = Budget(seconds=3600.0, evaluations=2)
    outcome, state = _attempt(tmp_path, "fast", "good", "better", budget=budget)
    events = [
        record.event for record in read_log(World(tmp_path).folder.work("attempt-000").log, WORK_EVENTS)
    ]
    numbers = [e.evaluation for e in events if isinstance(e, Graded | SampleGraded)]
    assert (numbers, state.spend.evaluations, outcome.steps) == ([1, 2], 2, 2)


def test_a_resumed_attempt_does_not_grade_again(tmp_path: Path) -> None:
    """A replay takes score and comparison from the log."""
    folder = World(tmp_path).folder.work("attempt-000")
    first = _world(tmp_path, "fast")
    with pytest.raises(ModelServiceError, match="no more replies"):
        execute(first.agent, code(steps=3), folder, first.dependencies())
    folder.sample_predictions(1).write_text("0.1")  # a grading now would give another score
    again = _world(tmp_path, "good", "faster")
    outcome = execute(again.agent, code(steps=3), folder, again.dependencies())
    assert isinstance(outcome, CodeOutcome)
    state = WORK_LOG.read(folder.log)
    ran = [each.removesuffix(_FIT_ON_SAMPLE) for each in again.ran]
    assert ran == ["fast", "good", "faster"], "the session is restored by the first"
    shown = [cell.sample.shown if cell.sample else "" for cell in state.cells]
    assert shown == ["sample written 0.8 [0.8, 0.8]", "", "sample written 0.99 [0.99, 0.99]"]
    assert outcome.score is not None
    assert outcome.score.value.value == 0.9


def test_a_campaign_picks_and_shows_full_steps(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Best, pick and leaderboard have no score of a sample; `comind show` marks them."""
    world = _world(tmp_path, "good", "faster", "faster", "poor", "fast", "poor")
    state = world.run(world.campaign(coders=1))
    assert state.best is not None
    assert state.picked is not None
    assert (state.best.score.value.value, state.picked.work_id) == (0.9, "attempt-000")
    scores = [each.score.value.value for each in state.works.best_first() if each.score]
    assert scores == [0.9, 0.5, 0.5]
    assert {each.score.value.value for each in state.picked.leaderboard} <= {0.9, 0.5}
    view = read_view(world.folder)
    assert view.best is not None
    assert view.best.score == state.best.score
    assert main(["show", world.folder.name, "attempt-000", "--out", str(tmp_path)]) == 0
    [line] = [each for each in capfd.readouterr().out.splitlines() if each.startswith("step 2 ")]
    assert line.endswith("sample written 0.99 [0.99, 0.99]")


def test_planned_work_records_that_few_rows_come_first(tmp_path: Path) -> None:
    """Where the best program took more than a tenth of an attempt; the log has it for a resume."""

    def slow(workspace: Path) -> list[tuple[float, str]]:
        hand_in("0.9")(workspace)  # type: ignore[operator]
        return [(61.0, "fitted")]

    world = _world(tmp_path, *["slow"] * 4, cells={"slow": slow})
    campaign = world.campaign(coders=1, iterations=1, cell_seconds=600.0)
    campaign.record(split_made(sample_rows=400))
    works = world.run(campaign).works.attempts()
    assert [each.work.sample_first for each in works] == [False, True]
    kept = [each.work.sample_first for each in read_view(world.folder).state.works.attempts()]
    assert kept == [False, True]


def test_steps_on_the_sample_are_no_part_of_what_a_full_run_takes(tmp_path: Path) -> None:
    """Code and seconds of the result have what its script needs of them."""

    def few(workspace: Path) -> list[tuple[float, str]]:
        on_sample("0.8")(workspace)  # type: ignore[operator]
        return [(30.0, "fitted")]

    def full(workspace: Path) -> list[tuple[float, str]]:
        hand_in("0.9")(workspace)  # type: ignore[operator]
        return [(10.0, "fitted")]

    read = 'import pandas as pd\n{0} = pd.read_csv("input/sample/train.csv")\n{0}.to_csv("{1}")'
    needed = read.format("rows", "sample_predictions.csv") + '\nbest = rows["label"].mean()'
    other = read.format("few", "sample_predictions.csv")
    names = "validation_submission.csv", "submission.csv"
    pair = "\n".join(f'pd.DataFrame({{"label": [best]}}).to_csv("{name}")' for name in names)
    outcome, _ = _attempt(tmp_path, needed, other, pair, cells={needed: few, other: few, pair: full})
    assert outcome.code_seconds == 40.0
    needed = needed.replace('\nrows.to_csv("sample_predictions.csv")', "")
    assert outcome.code == f"{needed}\n\nimport pandas as pd\n\n{pair}"


def test_a_report_is_that_of_the_cell_that_handed_in_what_was_graded() -> None:
    """Of a log that lacks the end of a cell, or has another one, no cell gets the report."""
    given = SamplePredictions(step=1, sha256="a")
    started = CellStarted(ordinal=1, step=1, goal="", code="fit()")
    graded = SampleGraded(ordinal=2, predictions=given, report=GradeReport(valid=True, score=score(0.8)))

    def shown(*events: WorkEvent) -> list[bool]:
        cells = WORK_LOG.fold(records_of(started, *events, graded)).cells
        return [cell.sample is not None for cell in cells]

    ended = CellEnded(ordinal=1, result=CellResult(status=CellStatus.OK), sample=given)
    other = given.model_copy(update={"sha256": "b"})
    assert shown(ended) == [True]
    assert shown() == [False]
    assert shown(ended.model_copy(update={"sample": other})) == [False]
    assert shown(ended, CellStarted(ordinal=3, step=2, goal="", code="")) == [False, False]


def test_gradings_on_the_sample_count_as_revealed(tmp_path: Path) -> None:
    """They add gradings and bits, but no score that could be the best of many."""
    works = {"attempt-000": _attempt(tmp_path / "with", "good", "fast", "faster")[1]}
    plain = {"attempt-000": _attempt(tmp_path / "without", "good")[1]}
    ended = WorkFinished(id="attempt-000", outcome=scored(0.9))
    state = state_of(split_made(), WorkPlanned(id="attempt-000", work=code()), ended)
    more, less = tuning_of(state, works), tuning_of(state, plain)
    assert (more.gradings, more.on_sample) == (3, 2)
    assert (less.gradings, less.on_sample) == (1, 0)
    assert more.bits > less.bits
    assert (more.others, more.optimism) == (less.others, less.optimism)


@pytest.mark.parametrize(("full", "warned"), [(2, False), (6, True)])
def test_the_best_score_is_the_best_of_full_gradings_alone(full: int, warned: bool) -> None:
    """Gradings on the sample neither are in the warning of a score that is too good, nor lead to it."""
    tuning = Tuning(gradings=full + 10, on_sample=10, rows=40, optimism=0.03, others=1, lead=0.01)
    warnings = "".join(tuning.warnings)
    assert ("as the best of 6 gradings on the same 40 rows" in warnings) is warned
    assert bool(warnings) is warned


_READ = 'train = pd.read_csv("input/demo/train.csv")\nsample = pd.read_csv("input/sample/train.csv")'
_FIT = "model = Ridge()\nmodel.fit(sample[names], sample[target])"
_WRITE = "write(model.predict(validation[names]))"


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (('write(fit(pd.read_csv("input/sample/train.csv")))',), True),
        (('write(fit(pd.read_csv(Path("input") / "sample" / "train.csv")))',), True),
        ((_READ, "write(fit(sample))"), True),
        ((_READ, _FIT, _WRITE), True),
        ((_READ, "best = search(sample)", "write(fit(train, best))"), True),
        ((_READ, "def few():\n    return sample", "write(fit(few()))"), True),
        ((_READ, "write(fit(train))"), False),
        ((_READ, _FIT, "model = Ridge().fit(train[names], train[target])", _WRITE), False),
        ((_READ, "def fit(table):\n    return table.mean()", "fit(sample)", "write(fit(train))"), False),
        (("# not input/sample/train.csv\nwrite(fit(train))",), False),
        (('write(fit(pd.read_csv("input/demo/sample/train.csv")))',), False),
        (('write(fit(pd.read_csv("input/sample-data/train.csv")))',), False),
        (('write(fit(train["sample"]))',), False),
        ((_READ, "not python(", "write(fit(train))"), False),
    ],
)
def test_what_depends_on_the_sample_is_found_by_text(cells: tuple[str, ...], found: bool) -> None:
    """A cell's own paths and names, and those that earlier cells made of the sample and did not replace.

    That a cell depends on the sample does not say that its model was fitted on it.
    """
    *before, last = cells
    started = [
        CellStarted(ordinal=step, step=step, goal="", code=each) for step, each in enumerate(before, 1)
    ]
    assert uses_sample(WORK_LOG.fold(records_of(*started)).cells, last) is found


def test_a_full_step_that_uses_the_sample_is_marked(tmp_path: Path) -> None:
    """It is scored as what it handed in, and the log says that it depends on rows of the sample."""
    _, state = _attempt(tmp_path, "mixed", "good", "fast")
    assert [cell.uses_sample for cell in state.cells] == [True, False, True]
    assert [cell.report is not None for cell in state.cells] == [True, True, False]
