"""Days of following a competition."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from comind.domain.community import ItemOutcome
from comind.domain.metric import Interval, Paired
from comind.errors import KaggleAccountError, KaggleBusyError
from comind.following.day import CampaignStatus, Day, DayPlan, ObservedCompetition, notices_of
from comind.following.events import Candidate, StandingRecorded, SubmissionApproved, SubmittedFile
from comind.following.state import FollowingLog
from comind.following.submission import submit_candidate
from comind.kaggle.port import Limits
from comind.system.files import hash_file
from tests.doubles.clock import QuickClock
from tests.doubles.kaggle import ScriptedKaggle
from tests.unit.following.days import START, candidate, day, observation
from tests.unit.kaggle.world import SLUG, tiny_world


class CampaignSlices:
    """Campaigns that end at once, each day with a better solution."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = QuickClock(start=START)
        self.kaggle = ScriptedKaggle(tiny_world())
        self.budgets: list[tuple[str, float, float | None]] = []
        self.look_changes: dict[str, Any] = {}
        self.unreachable: KaggleBusyError | KaggleAccountError | None = None
        self.killed = False
        self.during: Callable[[], None] = lambda: None
        self.opened = 0
        self.value = 0.5
        self.statuses: dict[str, CampaignStatus] = {}
        self.seen_items: tuple[ItemOutcome, ...] = ()

    def observe(self) -> ObservedCompetition:
        if self.unreachable is not None:
            raise self.unreachable
        left = self.kaggle.limits(SLUG).allowed_now
        changes: dict[str, Any] = {"at": self.clock.now(), "submissions_left": left}
        look = observation(**(changes | self.look_changes))
        return ObservedCompetition(
            observation=look, competition=self.root, leaderboard=self.kaggle.world.leaderboard
        )

    def open(self, competition: Path, seconds: float, usd: float | None) -> str:
        assert competition == self.root
        self.opened += 1
        self.budgets.append((f"c{self.opened}", seconds, usd))
        return f"c{self.opened}"

    def extend(self, campaign: str, seconds: float, usd: float | None) -> None:
        self.budgets.append((campaign, seconds, usd))

    def items(self, campaign: str) -> Sequence[ItemOutcome]:
        return self.seen_items if campaign else ()

    def status(self, campaign: str) -> CampaignStatus:
        return self.statuses.get(campaign, CampaignStatus())

    def run(self, campaign: str) -> None:
        before = self.status(campaign)
        self.clock.sleep(30)
        self.during()
        self.statuses[campaign] = CampaignStatus(seconds=before.seconds + 30, usd=before.usd + 0.25)
        if self.killed:
            raise KeyboardInterrupt
        self.value += 0.1
        self.clock.sleep(30)
        self.statuses[campaign] = CampaignStatus(
            seconds=before.seconds + 60,
            usd=before.usd + 0.5,
            attempts=1,
            candidate=candidate("a", self.value).model_copy(
                update={"campaign": campaign, "sha256": hash_file(self._write())}
            ),
        )

    def compare(self, one: Candidate, other: Candidate) -> Paired | None:
        if one.campaign != other.campaign:
            return None
        difference = one.validation.value.value - other.validation.value.value
        bounds = Interval(low=difference - 0.02, high=difference + 0.02)
        return Paired(difference=difference, standard_error=0.01, interval=bounds)

    def correlations(self, one: Candidate, others: Sequence[Candidate]) -> Sequence[float | None]:
        return [0.5 if one.campaign == each.campaign else None for each in others]

    def submission_file(self, candidate: Candidate) -> Path:
        return self.root / f"{candidate.validation.value.value:.1f}.csv"

    def _write(self) -> Path:
        path = self.root / f"{self.value:.1f}.csv"
        path.write_text(f"{self.value}")
        return path


@pytest.fixture
def slices(tmp_path: Path) -> CampaignSlices:
    """An in-memory Kaggle, and campaigns that end at once."""
    return CampaignSlices(tmp_path)


def _day(slices: CampaignSlices, **plan: Any) -> FollowingLog:
    given = {"submit": "auto", "score_minutes": 0, "minutes": 3} | plan
    with FollowingLog(slices.root, SLUG) as log:
        kaggle, clock = slices.kaggle, slices.clock
        Day(SLUG, log, kaggle, slices, DayPlan.model_validate(given), clock).run()
    return log


def _score(slices: CampaignSlices, score: str) -> None:
    world = slices.kaggle.world
    world.submissions = tuple(
        each.model_copy(update={"status": "complete", "public_score": score})
        if each.status == "pending"
        else each
        for each in world.submissions
    )


def test_each_day_goes_on_where_the_last_one_ended(slices: CampaignSlices) -> None:
    """One campaign gets more time each day, and each day's better candidate is submitted."""
    for number in range(3):
        slices.clock.sleep(86_400)
        log = _day(slices)
        _score(slices, f"0.{3 - number}")
    assert slices.budgets == [("c1", 180.0, None)] * 3
    assert len(slices.kaggle.world.submissions) == 3
    assert log.state.best_public(maximize=False) == 0.2  # the last score is seen tomorrow
    standing = log.state.standing
    assert isinstance(standing, StandingRecorded)
    assert (standing.rank, standing.teams) == (1, 2)  # the metric of these days is better when higher


def test_a_file_that_another_command_sent_is_not_sent_again(slices: CampaignSlices) -> None:
    """The day's candidate is kept where its file was submitted by hand before."""
    file = slices.root / "0.6.csv"
    file.write_text("0.6")
    mine = SubmittedFile(name="mine.csv", sha256=hash_file(file))
    with FollowingLog(slices.root, SLUG) as log:
        submit_candidate(log, slices.kaggle, SLUG, mine, file, START)
    log = _day(slices)
    assert len(slices.kaggle.world.submissions) == 1
    assert log.state.decision is not None
    assert "submitted before" in log.state.decision.reason


def test_a_day_has_one_budget(slices: CampaignSlices) -> None:
    """A second run on a day gets the rest of the budget, and a third none."""
    for _ in range(4):
        _day(slices, minutes=2)
    assert slices.budgets == [("c1", 120.0, None), ("c1", 60.0, None)]
    slices.clock.sleep(86_400)
    _day(slices, minutes=2, usd=0.25)
    _day(slices, minutes=2, usd=0.25)
    assert slices.budgets[2:] == [("c1", 120.0, 0.25)]


def test_new_data_begin_a_new_campaign(slices: CampaignSlices) -> None:
    """New data start a new campaign, as the old split is obsolete."""
    _day(slices)
    slices.clock.sleep(86_400)
    slices.look_changes = {"data_sha256": "other"}
    log = _day(slices)
    assert [name for name, *_ in slices.budgets] == ["c1", "c2"]
    assert [each.subject for each in log.state.notices] == ["data"]
    assert log.state.decision is not None
    assert "other rows" in log.state.decision.reason


def test_without_kaggle_the_campaign_goes_on(slices: CampaignSlices) -> None:
    """If Kaggle fails, the campaign continues on the last observation, with a notice."""
    slices.unreachable = KaggleAccountError("the credentials have expired")
    with pytest.raises(KaggleAccountError):
        _day(slices)
    assert slices.budgets == []
    slices.unreachable = None
    _day(slices)
    slices.clock.sleep(86_400)
    slices.unreachable = KaggleBusyError("Kaggle is down")
    with pytest.raises(KaggleBusyError):
        _day(slices)
    assert len(slices.budgets) == 2
    assert len(slices.kaggle.world.submissions) == 1


def test_an_interrupted_slice_is_resumed_within_its_budget(slices: CampaignSlices) -> None:
    """An interrupted slice resumes within its own budget before a new one starts."""
    slices.killed = True
    with pytest.raises(KeyboardInterrupt):
        _day(slices)
    slices.killed = False
    log = _day(slices)
    assert slices.budgets == [("c1", 180.0, None)]
    assert [each.seconds for each in log.state.ended] == [90.0]  # with what was done before the kill


def test_nothing_is_done_after_the_deadline(slices: CampaignSlices) -> None:
    """After the deadline only pending scores are polled."""
    _day(slices)
    slices.clock.sleep(86_400 * 40)
    slices.look_changes = {"deadline": day(30)}
    _score(slices, "0.3")
    log = _day(slices)
    assert len(slices.budgets) == 1
    assert [each.subject for each in log.state.notices] == ["deadline"]
    assert log.state.best_public(maximize=False) == 0.3


def test_the_limit_of_the_day_holds(slices: CampaignSlices) -> None:
    """With no submission left, the candidate is kept for another day."""
    slices.kaggle.world.limits = Limits(today=5, total=5, allowed_now=0)
    log = _day(slices)
    assert slices.kaggle.world.submissions == ()
    assert log.state.decision is not None
    assert "no submission is left today" in log.state.decision.reason
    slices.kaggle.world.limits = Limits(today=0, total=5, allowed_now=5)
    slices.clock.sleep(86_400)
    _day(slices)
    assert len(slices.kaggle.world.submissions) == 1


def test_what_was_agreed_to_goes_out_before_the_next_slice(slices: CampaignSlices) -> None:
    """An approved file is submitted before a slice produces another."""
    log = _day(slices, submit="ask")
    waiting = log.state.candidate
    assert waiting is not None
    slices.clock.sleep(86_400)
    with FollowingLog(slices.root, SLUG) as log:
        log.record(SubmissionApproved(at=slices.clock.now(), sha256=waiting.sha256))
    log = _day(slices, submit="ask")
    assert [each.candidate.sha256 for each in log.state.submissions] == [waiting.sha256]
    assert log.state.candidate != waiting


def test_an_agreement_outlives_a_day_without_submissions(slices: CampaignSlices) -> None:
    """An approval stays valid on the next day, whatever slices produce meanwhile."""
    log = _day(slices, submit="ask")
    waiting = log.state.candidate
    assert waiting is not None
    with FollowingLog(slices.root, SLUG) as log:
        log.record(SubmissionApproved(at=slices.clock.now(), sha256=waiting.sha256))
    limits = slices.kaggle.world.limits
    slices.kaggle.world.limits = Limits(today=5, total=5, allowed_now=0)
    slices.clock.sleep(86_400)
    assert _day(slices, submit="ask").state.submissions == ()
    slices.kaggle.world.limits = limits
    slices.clock.sleep(86_400)
    log = _day(slices, submit="ask")
    assert [each.candidate.sha256 for each in log.state.submissions] == [waiting.sha256]


def test_a_slice_over_midnight_is_of_the_day_it_began_on(slices: CampaignSlices) -> None:
    """A slice over midnight counts against the day of its start."""
    slices.clock.sleep(12 * 3600 - 10)  # ten seconds to midnight
    _day(slices, minutes=1)
    slices.clock.sleep(3600)
    _day(slices, minutes=1)
    assert slices.budgets == [("c1", 60.0, None)] * 2


def test_an_outage_after_the_deadline_costs_nothing(slices: CampaignSlices) -> None:
    """If Kaggle fails after the deadline, no slice is run."""
    slices.look_changes = {"deadline": day(-1)}
    _day(slices)
    slices.unreachable = KaggleBusyError("Kaggle is down")
    with pytest.raises(KaggleBusyError):
        _day(slices)
    assert slices.budgets == []


def test_a_list_that_cannot_be_had_stops_no_slice(slices: CampaignSlices) -> None:
    """If the list of submissions fails, the campaign continues."""
    _day(slices)
    slices.clock.sleep(86_400)
    slices.kaggle.failures["submissions"] = [KaggleBusyError("Kaggle is down")]
    with pytest.raises(KaggleBusyError):
        _day(slices)
    assert len(slices.budgets) == 2


def test_what_changed_during_the_slice_counts(slices: CampaignSlices) -> None:
    """The submission limit is checked again after the slice."""
    slices.during = lambda: setattr(
        slices.kaggle.world, "limits", Limits(today=5, total=5, allowed_now=0)
    )
    log = _day(slices)
    assert slices.kaggle.world.submissions == ()
    assert log.state.decision is not None
    assert log.state.decision.verdict == "keep"
    assert "no submission is left" in log.state.decision.reason


def test_the_final_rank_is_recorded_once_private_scores_are_known(slices: CampaignSlices) -> None:
    """The leaderboard after the end is not compared with a public score."""
    _day(slices)
    _score(slices, "0.5")
    _day(slices)
    slices.clock.sleep(40 * 24 * 3600)
    log = _day(slices)
    before = log.state.standing
    assert before is not None
    assert not before.final
    world = slices.kaggle.world
    world.submissions = tuple(
        each.model_copy(update={"status": "complete", "public_score": "0.5", "private_score": "0.4"})
        for each in world.submissions
    )
    slices.clock.sleep(24 * 3600)
    log = _day(slices)
    standing = log.state.standing
    assert standing is not None
    assert (standing.final, standing.score) == (True, 0.4)
    slices.clock.sleep(24 * 3600)
    assert _day(slices).state.standing == standing, "the same rank is not recorded again"


def test_after_the_end_nothing_is_closed() -> None:
    """That no files are accepted after the deadline is no news of its own."""
    before, over = observation(30), observation(31, closed="Kaggle accepts no submissions")
    assert [each.subject for each in notices_of(before, over)] == ["deadline"]
    early = observation(29, closed="Kaggle accepts no submissions")
    assert "closed" in [each.subject for each in notices_of(observation(28), early)]


def test_an_approved_file_is_decided_on_once(slices: CampaignSlices) -> None:
    """The decision that sent it remains the last one of a day without a better file."""
    log = _day(slices, submit="ask")
    waiting = log.state.candidate
    assert waiting is not None
    with FollowingLog(slices.root, SLUG) as log:
        log.record(SubmissionApproved(at=slices.clock.now(), sha256=waiting.sha256))
    log = _day(slices, submit="ask", minutes=1)
    assert log.state.decision is not None
    assert log.state.decision.verdict == "submit"
    assert len(log.state.submissions) == 1


def test_items_are_logged_when_more_came_of_them(slices: CampaignSlices) -> None:
    """A slice's end has the items that are new or have new attempts, and no others."""
    read = [ItemOutcome(item_type="notebook", name=name, title="") for name in ("a/one", "b/two")]

    def items(*found: ItemOutcome) -> Callable[[], None]:
        return lambda: setattr(slices, "seen_items", found)

    slices.during = items(*read)
    _day(slices)
    slices.clock.sleep(86_400)
    slices.during = items(read[0], read[1].model_copy(update={"attempts": ("attempt-2",)}))
    state = _day(slices).state
    assert [[each.name for each in ended.items] for ended in state.ended] == [
        ["a/one", "b/two"],
        ["b/two"],
    ]


def test_the_limits_of_all_competitions_hold(slices: CampaignSlices) -> None:
    """A day on which others need the submissions keeps its file, with the reason."""
    with FollowingLog(slices.root, SLUG) as log:
        plan = DayPlan(submit="auto", minutes=3, score_minutes=0)
        kaggle, clock = slices.kaggle, slices.clock
        run = Day(SLUG, log, kaggle, slices, plan, clock, _submissions_on=lambda _day: 0)
        run.run()
    decision = log.state.decision
    assert decision is not None
    assert (decision.verdict, log.state.submissions) == ("keep", ())
    assert decision.reason.endswith("the 0 submissions of today are used up")


def test_submissions_are_selected_once_another_is_scored(slices: CampaignSlices) -> None:
    """The selection changes with a score, is not made again without one, and not after the end."""
    found = []
    for days in (1, 1, 40, 1):
        _day(slices)
        _score(slices, "0.5")
        found.append(_day(slices).state.selection)
        slices.clock.sleep(days * 86_400)
    assert [each and each.second is not None for each in found] == [False, True, True, True]
    assert found[0] != found[1] != found[2]
    assert found[2] == found[3], "nothing is selected after the end"
