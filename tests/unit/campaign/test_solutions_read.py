"""Which earlier solutions a script reads, and what a refit of it needs first."""

from typing import Any

import pytest

from comind.campaign.closing.finish import plan_refit
from comind.campaign.log.campaign_events import CampaignEvent, FinalPicked, WorkFinished, WorkPlanned
from comind.campaign.log.campaign_state import CAMPAIGN_LOG, CampaignState
from comind.campaign.log.outcome import CodeOutcome
from comind.campaign.log.solutions_read import refit_order, solutions_read
from comind.campaign.log.work import Code
from comind.domain.draft import Operator
from comind.domain.spend import Budget
from tests.unit.campaign.samples import code, failed, opened, records, scored, split_made

_MOUNTED = ("attempt-000", "attempt-001", "ann/notebook")


@pytest.mark.parametrize(
    ("script", "read"),
    [
        ("print(1)", ()),
        ("attempt-001 was better", ()),
        ("open('input/solutions/attempt-001/out_of_fold.csv')", ("attempt-001",)),
        ("for n in glob('input/solutions/*'): open(n)", ("attempt-000", "attempt-001")),
        ("f'input/solutions/attempt-{n:03}'; 'attempt-001'", ("attempt-000", "attempt-001")),
        ("folder = 'input/solutions/' + name", ("attempt-000", "attempt-001")),
        ("a = 'input/solutions/attempt-000'; f'attempt-00{n}'", ("attempt-000", "attempt-001")),
        ("Path('input', 'solutions', f'attempt-00{n}'), 'attempt-000'", ("attempt-000", "attempt-001")),
        ("for n in ['attempt-001']: read(f'input/solutions/{n}/submission.csv')", ("attempt-001",)),
        ("glob('input/comp/*.png'); open('input/solutions/attempt-001/x')", ("attempt-001",)),
        ("!cp -r input/solutions/* . # attempt-001", ("attempt-000", "attempt-001")),
        ("# input/solutions/attempt-001 was of no use", ()),
        ("solutions = []", ()),
    ],
)
def test_a_script_reads_what_it_names(script: str, read: tuple[str, ...]) -> None:
    """Where names are made or listed, it may read all that is mounted; community items are apart."""
    work = code().model_copy(update={"inputs": _MOUNTED})
    assert solutions_read(work, script) == list(read)


def _reading(*names: str) -> tuple[Code, CodeOutcome]:
    """Return an attempt whose script reads files of others."""
    lines = "".join(f"read('input/solutions/{name}')\n" for name in names)
    work = code().model_copy(update={"inputs": (*names, "ann/notebook") if names else ()})
    return work, scored(0.8).model_copy(update={"code": lines, "code_seconds": 10.0})


def _state(*further: CampaignEvent, **spec: Any) -> CampaignState:
    """Return a campaign whose pick reads another attempt, which reads a third one."""
    events: list[CampaignEvent] = []
    for number, names in enumerate(((), ("attempt-000",), (), ("attempt-001",))):
        work, outcome = _reading(*names)
        name = f"attempt-{number:03}"
        events += [WorkPlanned(id=name, work=work), WorkFinished(id=name, outcome=outcome)]
    picked = FinalPicked(work_id="attempt-003", reason="the best", leaderboard=())
    state = CampaignState()
    for record in records(opened(refit=True, **spec), split_made(), *events, picked, *further):
        state = CAMPAIGN_LOG.apply(state, record)
    return state


def _refit(number: int, work: Code, outcome: CodeOutcome) -> list[CampaignEvent]:
    name = f"refit-{number:03}"
    return [WorkPlanned(id=name, work=work), WorkFinished(id=name, outcome=outcome)]


def test_what_is_read_is_refitted_first() -> None:
    """Each refit reads those of the solutions that its attempt read, in their place."""
    assert refit_order(_state().works, "attempt-003") == ["attempt-000", "attempt-001", "attempt-003"]
    done: list[CampaignEvent] = []
    for number, name in enumerate(("attempt-000", "attempt-001", "attempt-003")):
        planned = plan_refit(_state(*done))
        assert isinstance(planned, Code)
        assert planned.operator is Operator.REFIT
        assert planned.parents == (name,)
        before = (f"refit-{number - 1:03}", "ann/notebook") if number else ()
        assert planned.inputs == before
        done += _refit(number, planned, scored(0.8).model_copy(update={"score": None}))
    state = _state(*done)
    assert isinstance(plan_refit(state), str)
    refit = state.refit()
    assert refit is not None
    assert refit.id == "refit-002"


def test_a_failed_refit_of_what_is_read_ends_the_refit() -> None:
    """The reason names it, and it is not tried again."""
    first = plan_refit(_state())
    assert isinstance(first, Code)
    why = plan_refit(_state(*_refit(0, first, failed())))
    assert isinstance(why, str)
    assert why.startswith("it reads files of attempt-000, which has no refit: ")


@pytest.mark.parametrize(("left", "planned"), [(44, False), (46, True)])
def test_a_refit_counts_the_time_of_what_it_reads(left: float, planned: bool) -> None:
    """Three programs of 10 s take about 45 s on all labelled rows."""
    used = _state().spend.seconds
    found = plan_refit(_state(budget=Budget(seconds=used + left)))
    assert isinstance(found, Code) == planned
    assert planned or str(found).startswith("it takes about 45 s, and 44 s are left")
