"""All campaigns of a project stay under one limit, whichever processes run or are killed."""

import shutil
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from comind.campaign.log.campaign_events import CampaignEnded
from comind.campaign.log.campaign_folders import CampaignFolder, ProjectFolder
from comind.campaign.log.outcome import BudgetExceeded, DeadlineExceeded
from comind.campaign.log.work_events import WORK_EVENTS, CallAnswered, CallFailed, CallSent, WorkEvent
from comind.campaign.loop import Campaign
from comind.campaign.work.metering import BudgetLedger
from comind.campaign.work.project_budget import (
    CampaignAccount,
    ProjectBudget,
    Refusal,
    limit_spent,
    owed_by_logs,
)
from comind.domain.spend import Budget, Spend
from comind.errors import CampaignError
from comind.eventlog.log import EventLog
from comind.llm.model_ports import ModelReply, Usage
from tests.unit.campaign.samples import opened

LIMIT = 100
NAMES = ("a", "b", "c")


def _sent(ordinal: int, usd: float) -> CallSent:
    return CallSent(ordinal=ordinal, fingerprint="f", role="r", model="m", bound=Usage(usd=usd))


class _Process:
    """One process that runs a campaign: it holds the lock of its log, and has one call at a time."""

    def __init__(self, project: ProjectFolder, name: str) -> None:
        self.name = name
        self.folder = project.campaign(name)
        self.campaign = Campaign(self.folder)
        if self.campaign.state.opened is None:
            self.campaign.record(opened(id=name))
        log = self.folder.work("work").log
        self.log: EventLog[WorkEvent] = EventLog(log, WORK_EVENTS)
        self.ordinal = len(self.log.records)
        self.bound = 0
        self.reservation: int | None = None
        self.reply: int | None = None
        ProjectBudget(project).start(name, owed_by_logs(self.folder).usd)

    def end(self) -> None:
        self.campaign.close()
        self.log.close()


class SharedLimit(RuleBasedStateMachine):
    """Campaigns send, are billed, settle and record one at a time; each may be killed in between."""

    @initialize()
    def set_up(self) -> None:
        memory = Path("/dev/shm")  # where fsync costs nothing
        home = memory if memory.is_dir() else None
        self.root = Path(tempfile.mkdtemp(prefix="budget-", dir=home))
        self.project = ProjectFolder(self.root)
        self.budget = ProjectBudget(self.project)
        self.budget.set_limit(LIMIT)
        self.running: dict[str, _Process] = {}
        self.billed = dict.fromkeys(NAMES, 0)

    def teardown(self) -> None:
        for process in getattr(self, "running", {}).values():
            process.end()
        shutil.rmtree(getattr(self, "root", ""), ignore_errors=True)

    @rule(name=st.sampled_from(NAMES), bound=st.integers(1, 60), share=st.floats(0, 1))
    def step(self, name: str, bound: int, share: float) -> None:
        """Let a process start, or take the next of the five steps of a call."""
        process = self.running.get(name)
        if process is None:
            self.running[name] = _Process(self.project, name)
        elif not process.bound:
            process.log.append(_sent(process.ordinal, bound))
            process.bound = bound
        elif process.reply is None and process.reservation is None:
            self._reserve(process)
        elif process.reply is None:
            process.reply = round(share * process.bound)
            self.billed[name] += process.reply
        elif process.reservation is not None:
            for _ in range(2):  # idempotent
                self.budget.settle(process.reservation, process.reply)
            process.reservation = None
        else:
            reply = ModelReply(text="", model="m", usage=Usage(usd=process.reply))
            process.log.append(CallAnswered(ordinal=process.ordinal, reply=reply))
            process.ordinal, process.bound, process.reply = process.ordinal + 1, 0, None

    def _reserve(self, process: _Process) -> None:
        before = self.budget.costs().total
        found = self.budget.reserve(process.name, process.bound, 1.0)
        assert isinstance(found, Refusal) == (before + process.bound > LIMIT)
        if isinstance(found, Refusal):
            process.log.append(CallFailed(ordinal=process.ordinal, message=str(found)))
            process.ordinal, process.bound = process.ordinal + 1, 0
        else:
            process.reservation = found

    @precondition(lambda self: self.running)
    @rule(number=st.integers(0, 2))
    def kill(self, number: int) -> None:
        """End a process at any of these moments."""
        names = sorted(self.running)
        self.running.pop(names[number % len(names)]).end()

    @rule()
    def another_reads_the_logs(self) -> None:
        """Settle killed campaigns, twice."""
        self.budget.settle_killed()
        self.budget.settle_killed()

    @invariant()
    def holds(self) -> None:
        if not hasattr(self, "budget"):
            return
        costs = self.budget.costs()
        assert costs.total <= LIMIT
        for name, cost in costs.campaigns.items():
            assert self.billed[name] <= sum(cost), "nothing is lost"
            process = self.running.get(name)
            owed = owed_by_logs(self.project.campaign(name)).usd
            assert cost.settled <= owed, "nothing is counted twice"
            if process is None or process.reservation is None:
                continue
            assert cost.reserved == process.bound


SharedLimit.TestCase.settings = settings(max_examples=25, stateful_step_count=40)
test_shared_limit = SharedLimit.TestCase


def _account(project: ProjectFolder, name: str, owed: float = 0.0) -> CampaignAccount:
    return CampaignAccount(ProjectBudget(project), name, owed, 0.1)


def _ledger(project: ProjectFolder, name: str) -> BudgetLedger:
    return BudgetLedger(Budget(), Spend(), _account(project, name))


def test_the_refusal_names_limit_campaigns_and_remedy(tmp_path: Path) -> None:
    """One line says what is spent by whom, and what to change."""
    project = ProjectFolder(tmp_path)
    ProjectBudget(project).set_limit(2)
    with _ledger(project, "a").reserve(Usage(usd=1.25)):
        pass
    ledger = _ledger(project, "b")
    with ledger.reserve(Usage(usd=0.5)):
        pass
    with pytest.raises(BudgetExceeded) as raised, ledger.reserve(Usage(usd=0.5)):
        pass
    text = (
        "the project's limit of $2.00 is spent (a $1.25, b $0.50; the next request may cost $0.50): "
        "raise limits.project_usd in params.yaml to continue"
    )
    assert str(raised.value) == text
    assert ledger.limit_reached() == CampaignEnded(reason="budget", detail=text, project_usd=2)
    ProjectBudget(project).set_limit(3)
    with ledger.reserve(Usage(usd=0.5)) as reservation:
        reservation.actual = Usage(usd=0.1)
    assert ProjectBudget(project).costs().campaigns["b"].settled == pytest.approx(0.6)


def test_the_last_share_is_for_closing_requests(tmp_path: Path) -> None:
    """As in a campaign's own budget, only requests that finish work may use it."""
    project = ProjectFolder(tmp_path)
    ProjectBudget(project).set_limit(1)
    ledger = _ledger(project, "a")
    with pytest.raises(BudgetExceeded), ledger.reserve(Usage(usd=0.95)):
        pass
    with ledger.reserve(Usage(usd=0.95), closing=True):
        pass


def test_requests_without_a_price_need_no_database(tmp_path: Path) -> None:
    """A local model costs nothing, so nothing is written."""
    project = ProjectFolder(tmp_path)
    with _ledger(project, "a").reserve(Usage(prompt_tokens=9)):
        pass
    assert not project.spend.exists()
    assert ProjectBudget(project).costs().campaigns == {}


def test_a_campaign_waits_for_the_requests_of_another(tmp_path: Path) -> None:
    """A request that fits once another campaign's is settled is sent then, or ends with its deadline."""
    project = ProjectFolder(tmp_path)
    ProjectBudget(project).set_limit(1)
    one, other = _ledger(project, "a"), _ledger(project, "b")
    made = threading.Event()

    def wait() -> None:
        with other.reserve(Usage(usd=0.6)):
            made.set()

    with Campaign(project.campaign("a")), one.reserve(Usage(usd=0.6)) as reservation:
        with (
            pytest.raises(DeadlineExceeded, match="of other campaigns hold the rest"),
            other.reserve(Usage(usd=0.6), seconds_left=lambda: 0.0),
        ):
            pass
        thread = threading.Thread(target=wait)
        thread.start()
        assert not made.wait(0.3)
        reservation.actual = Usage(usd=0.1)
    assert made.wait(10)
    thread.join()
    assert ProjectBudget(project).costs().total == pytest.approx(0.7)


def test_a_campaign_resumed_meanwhile_keeps_its_reservation(tmp_path: Path) -> None:
    """While another process reads the logs of a killed campaign, it may start again."""
    project = ProjectFolder(tmp_path)
    budget = ProjectBudget(project)
    budget.set_limit(1)
    killed = _Process(project, "a")
    assert budget.reserve("a", 0.2, 1.0)
    killed.end()

    def resumed_meanwhile(folder: CampaignFolder) -> Spend:
        budget.start("a", 0.0)
        assert budget.reserve("a", 0.3, 1.0)
        return owed_by_logs(folder)

    ProjectBudget(project, resumed_meanwhile).settle_killed()
    assert budget.costs().campaigns["a"] == (0.0, 0.3)


def test_campaigns_of_former_versions_count_by_their_logs(tmp_path: Path) -> None:
    """A campaign that the database does not know is added with what its logs say, once."""
    project = ProjectFolder(tmp_path)
    former = _Process(project, "former")
    former.log.append(_sent(0, 0.7))
    former.end()
    project.spend.unlink()
    ProjectBudget(project).set_limit(1)
    for _ in range(2):
        with (
            pytest.raises(BudgetExceeded, match=r"former \$0.70"),
            _ledger(project, "a").reserve(Usage(usd=0.5)),
        ):
            pass


def test_a_damaged_database_is_one_clear_line(tmp_path: Path) -> None:
    """The message names the file; deleting it loses nothing that the logs have."""
    project = ProjectFolder(tmp_path)
    project.runs.mkdir()
    project.spend.write_text("not a database, but long enough to be read as one" * 30)
    with pytest.raises(CampaignError, match=r"spend\.sqlite: cannot be used \(file is not a database\)"):
        ProjectBudget(project).costs()


def test_a_database_that_fails_loses_no_reply(tmp_path: Path) -> None:
    """A request whose cost cannot be settled keeps its reply; the next request is refused unsent."""
    project = ProjectFolder(tmp_path)
    ledger = _ledger(project, "a")
    with ledger.reserve(Usage(usd=0.5)) as reservation:
        project.spend.write_text("not a database, but long enough to be read as one" * 30)
        reservation.actual = Usage(usd=0.2)
    assert ledger.spent.usd == 0.2
    with pytest.raises(CampaignError, match="cannot be used"), ledger.reserve(Usage(usd=0.5)):
        pass


def test_many_campaigns_are_named_by_cost(tmp_path: Path) -> None:
    """The most expensive four are named, the others summed."""
    project = ProjectFolder(tmp_path)
    ProjectBudget(project).set_limit(50)
    for number in range(1, 8):
        with _ledger(project, f"c{number}").reserve(Usage(usd=number)):
            pass
    text = limit_spent(ProjectBudget(project).costs())
    assert "(c7 $7.00, c6 $6.00, c5 $5.00, c4 $4.00, 3 others $6.00)" in text
