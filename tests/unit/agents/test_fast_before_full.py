"""Coders whose full runs take long are told of the sample, and of scores on it as such."""

import json
from pathlib import Path

import pytest

from comind.campaign.log.outcome import CellTiming
from comind.campaign.log.work import Code
from comind.campaign.log.work_events import WORK_EVENTS, CellEnded
from comind.campaign.work.hand_in import FilesHandedIn
from comind.campaign.worker import execute
from comind.domain.spend import WorkBudget
from comind.errors import ModelServiceError
from comind.eventlog.log import read_log
from comind.testing import ScriptedModel
from tests.unit.agents.rounds import attempt, state_of
from tests.unit.agents.samples import FRAME, PROBLEM, agent_for
from tests.unit.campaign.samples import code, score, scored, split_made
from tests.unit.campaign.world import World, hand_in, on_sample

_PROBLEM = PROBLEM.model_copy(update={"train_rows": 4_000, "sample_rows": 400})
_MIXED = "submit(fit('input/sample/train.csv'))"
_FAST, _FASTER = (f"predict(fit('input/sample/train.csv', {trees}))" for trees in (9, 99))
_TOLD = "`input/sample/train.csv` has 400 of the 4000 rows of train.csv (one of 10)"


def _work(*, sample_first: bool = True) -> Code:
    budget = WorkBudget(seconds=7_200, steps=9, cell_seconds=7_200)
    return code().model_copy(update={"budget": budget, "sample_first": sample_first})


def _asked(root: Path, work: Code, *cells: str) -> list[str]:
    """Return the last message of each prompt of an attempt; its log may be continued."""

    def slow(workspace: Path) -> list[tuple[float, str]]:
        hand_in("0.9")(workspace)  # type: ignore[operator]
        return [(721.0, "fitted")]

    given: dict[str, object] = {
        _FAST: on_sample("0.8"),
        _FASTER: on_sample("0.85"),
        "unread": on_sample("0.7"),
        "slow": slow,
        _MIXED: hand_in("0.4"),
    }
    world = World(root, cells={FRAME: lambda workspace: ""} | given, hand_in=FilesHandedIn(sample=True))
    world.model = ScriptedModel([json.dumps({"goal": "g", "code": each}) for each in cells])
    with pytest.raises(ModelServiceError, match="no more replies"):
        execute(agent_for(_PROBLEM), work, world.folder.work("attempt-000"), world.dependencies())
    return [request.messages[-1].content for request in world.model.requests]


def test_a_score_on_the_sample_is_told_as_such(tmp_path: Path) -> None:
    """Feedback has its rows and the paired difference to steps on the sample, and both bests."""
    task, first, second, full = _asked(tmp_path, _work(), _FAST, _FASTER, "poor")
    assert _TOLD in task
    assert "Scored on the sample: written 0.8 [0.8, 0.8] (95 % interval, 1 rows)." in first
    assert (
        "It depends on rows of the sample (400 of 4000); do not compare it with scores of full steps."
        in first
    )
    assert "Nothing is scored yet." in first
    assert "0.05 better than your best step on the sample before it" in second
    assert "Scored: written 0.5" in full
    assert "than your best before it" not in full
    assert (
        "Best so far: written 0.5 [0.5, 0.5].\nBest on the sample: written 0.85 [0.85, 0.85] (step 3)."
        in full
    )


def test_what_a_step_says_and_what_its_code_shows_may_differ(tmp_path: Path) -> None:
    """A full step that depends on the sample is told so; predictions are refused if it does not."""
    _, mixed, fast, plain = _asked(tmp_path, _work(), _MIXED, "unread", "good")
    assert "This cell depends on rows of `input/sample/`, and what it submitted counts as" in mixed
    assert "Not scored: sample_predictions.csv: the code of this cell uses no rows of" in fast
    assert "input/sample/" not in plain


def test_a_long_cell_is_a_reason_to_try_on_few_rows(tmp_path: Path) -> None:
    """After the first cell of more than a tenth of the attempt the sample is offered, and once."""
    task, quick, slow, again = _asked(tmp_path, _work(sample_first=False), "good", "slow", "slow")
    assert [_TOLD in each for each in (task, quick, slow, again)] == [False, False, True, False]
    assert "That took more than a tenth of your time." in slow


def test_a_resumed_attempt_is_told_the_same(tmp_path: Path) -> None:
    """A replay renders the recorded feedback on steps on the sample."""
    before = _asked(tmp_path, _work(), _FAST, _MIXED)
    after = _asked(tmp_path, _work(), _FASTER)
    assert after[0] == before[-1]
    log = World(tmp_path).folder.work("attempt-000").log
    ended = [each.event for each in read_log(log, WORK_EVENTS) if isinstance(each.event, CellEnded)]
    assert [each.sample is not None for each in ended] == [False, True, False, True]


@pytest.mark.parametrize(
    ("best", "own", "rows", "told"),
    [
        (61.0, None, 400, True),
        (59.0, None, 400, False),
        (61.0, 59.0, 400, False),
        (59.0, 61.0, 400, True),
        (61.0, None, 0, False),
    ],
    ids=["best long", "best short", "own short", "own long", "few rows"],
)
def test_an_attempt_is_planned_to_be_told_by_what_a_full_run_took(
    best: float, own: float | None, rows: int, told: bool
) -> None:
    """By the program that it starts from, else the best one's scored cell, and a tenth of its time."""
    scored_cell = CellTiming(step=1, seconds=best, score=score(0.8).shown)
    outcome = scored(0.8).model_copy(update={"code_seconds": 300.0, "timings": (scored_cell,)})
    state = state_of(split_made(sample_rows=rows), *attempt(0, code(), outcome))
    draft = code().draft.model_copy(update={"codebase": "fit()", "codebase_seconds": own})
    work = code().model_copy(update={"draft": draft})  # in 600 s
    assert state.time.sample_first(work) is told
    assert "sample_first" not in work.model_dump(), "older logs read as they were"
