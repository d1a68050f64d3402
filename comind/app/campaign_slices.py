"""Observe a competition, and run campaigns of a project on it: what a followed day does."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comind.app.campaign_opening import open_campaign, resume_campaign
from comind.app.candidate_files import upload_of
from comind.app.lineage import item_summaries, provenance_of
from comind.campaign.log.campaign_folders import CampaignFolder, ProjectFolder
from comind.campaign.log.campaign_settings import CampaignSettings
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.loop import read_state
from comind.campaign.reports.campaign_view import read_view
from comind.campaign.reports.item_outcomes import item_outcomes
from comind.community.jsonl import is_community_folder
from comind.domain.community import ItemOutcome
from comind.domain.metric import Paired
from comind.domain.value import Value
from comind.following.day import CampaignStatus, DayPlan, ObservedCompetition
from comind.following.events import Candidate, CompetitionObserved
from comind.kaggle.data_files import FetchRecord
from comind.kaggle.fetch import Fetched
from comind.kaggle.leaderboard_fetch import read_leaderboard
from comind.kaggle.port import Kaggle
from comind.kaggle.submittable import why_closed
from comind.system.files import hash_file, hash_tree, write_atomically
from comind.system.timing import Clock
from comind.wiring.runtime import CampaignRuntime


class FollowingParams(Value):
    """Parameters of `follow_competition`."""

    plan: DayPlan = DayPlan()
    solve: CampaignSettings = CampaignSettings()
    """What overrides the settings of params.yaml and of the profile."""
    profile: str | None = None


@dataclass(frozen=True, slots=True)
class DaySteps:
    """The functions that a followed day calls; tasks and flows where there is an orchestrator."""

    fetch: Callable[[Path, str], Fetched]
    """`OpenDay.fetch` of the project's open day."""
    import_community: Callable[[Path, Path, Path, str], object]
    """`import_and_version`"""
    run_campaign: Callable[[Path, str], None]
    """Runs a campaign to the end of its budget, on a new snapshot of the community."""
    run_step: Callable[..., Any]
    """`Day.perform` of the project's open day; takes project, competition, step and its values."""
    show_report: Callable[[str, str], None]
    """Shows the report of a competition."""
    notify: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ProjectSlices:
    """Fetches from Kaggle, and runs campaigns of this project."""

    project: Path
    slug: str
    params: FollowingParams
    kaggle: Kaggle
    clock: Clock
    steps: DaySteps

    def observe(self) -> ObservedCompetition:
        """Fetch what is new; the number of submissions left is requested last."""
        fetched = self.steps.fetch(self.project, self.slug)
        for note in fetched.notes:
            self.steps.notify(note)
        community = fetched.folder / "community"
        if is_community_folder(community):
            store = ProjectFolder(self.project).community_store
            self.steps.import_community(self.project, store, community, self.slug)
        left = self.kaggle.limits(self.slug).allowed_now
        return ObservedCompetition(
            observation=_looked(fetched, self.clock, left),
            competition=fetched.folder,
            leaderboard=read_leaderboard(fetched.folder / "leaderboard"),
        )

    def open(self, competition: Path, seconds: float, usd: float | None) -> str:
        """Open a campaign with this budget."""
        notebooks = competition / "community" / "notebooks.jsonl"
        if not is_community_folder(notebooks.parent):  # so that later notebooks are read, too
            write_atomically(notebooks, "")
        overrides = self.params.solve.given() | {"minutes": seconds / 60}
        if usd is not None:
            overrides["max_usd"] = usd
        opened = open_campaign(
            self.project, competition, overrides, self.params.profile, self.steps.notify
        )
        return opened.name

    def extend(self, campaign: str, seconds: float, usd: float | None) -> None:
        """Set a campaign's budget to its spend plus `seconds`, `usd` and its other limits."""
        state = self._state(campaign)
        spent, tokens = state.spend, state.spec.budget.tokens
        limits = {
            "seconds": spent.seconds + seconds,
            "usd_before": spent.usd,
            "tokens_before": spent.tokens,
        }
        if usd is not None:
            limits["usd"] = spent.usd + usd
        if tokens is not None:
            limits["tokens"] = spent.tokens + tokens
        if (evaluations := state.spec.budget.evaluations) is not None:
            limits["evaluations"] = spent.evaluations + evaluations
        resume_campaign(self.project, campaign, self.steps.notify, limits=limits)

    def status(self, campaign: str) -> CampaignStatus:
        """Return the spend of a campaign, and its candidate for submission."""
        view = read_view(self._folder(campaign))
        return CampaignStatus(
            seconds=view.spend.seconds,
            usd=view.spend.usd,
            attempts=view.attempts[0],
            candidate=candidate_of(campaign, view.state),
        )

    def items(self, campaign: str) -> Sequence[ItemOutcome]:
        """Return the community items of a campaign, with the attempts that came from each."""
        state = self._state(campaign)
        graph, _ = provenance_of(self.project, state)
        return item_outcomes(state, graph, item_summaries(state))

    def run(self, campaign: str) -> None:
        """Run a campaign to the end of its budget, on a new snapshot of the community."""
        if self._state(campaign).ended is None:
            self.steps.run_campaign(self.project, campaign)

    def compare(self, one: Candidate, other: Candidate) -> Paired | None:
        """Return how much better `one` is than `other`; None where their validation rows differ."""
        if self._split_key(one) is None or self._split_key(one) != self._split_key(other):
            return None
        with CampaignRuntime(ProjectFolder(self.project), self._folder(one.campaign)) as runtime:
            return runtime.grader.compare(self._validation(one), self._validation(other))

    def correlations(self, one: Candidate, others: Sequence[Candidate]) -> list[float | None]:
        """Return the correlations of errors; None for one on other rows, or where there are none."""
        same = [each for each in others if self._split_key(each) == self._split_key(one)]
        if not same or self._split_key(one) is None:
            return [None for _ in others]
        with CampaignRuntime(ProjectFolder(self.project), self._folder(one.campaign)) as runtime:
            report = runtime.grader.errors([self._validation(each) for each in (one, *same)])
        rows = zip(same, report.correlations[1:], strict=False)  # none without correlations
        known = {each.sha256: row[0] for each, row in rows}
        return [known.get(each.sha256) for each in others]

    def submission_file(self, candidate: Candidate) -> Path:
        """Return the file to send for a candidate, in the form of the sample submission."""
        return upload_of(ProjectFolder(self.project), self._state(candidate.campaign), candidate)

    def _split_key(self, candidate: Candidate) -> str | None:
        """Return the key of the split, which identifies its rows; None if there is none yet."""
        split = self._state(candidate.campaign).split
        return split.key if split is not None else None

    def _validation(self, candidate: Candidate) -> Path:
        attempt = self._state(candidate.campaign).works.attempt(candidate.attempt)
        return self._folder(candidate.campaign).validation_of(attempt)

    def _folder(self, campaign: str) -> CampaignFolder:
        return ProjectFolder(self.project).campaign(campaign)

    def _state(self, campaign: str) -> CampaignState:
        return read_state(self._folder(campaign))


def candidate_of(campaign: str, state: CampaignState) -> Candidate | None:
    """Return the file that a campaign delivers, with the score of its pick; None without a pick."""
    delivered = state.delivered()
    if state.picked is None or delivered is None:
        return None
    picked = state.works.attempt(state.picked.work_id)
    assert delivered.submitted is not None
    assert picked.score is not None
    return Candidate(
        campaign=campaign,
        attempt=picked.id,
        sha256=delivered.submitted.test_sha256,
        validation=picked.score,
    )


def _looked(fetched: Fetched, clock: Clock, left: int) -> CompetitionObserved:
    record = FetchRecord.read(fetched.folder)
    assert record is not None, "it is written at the end of every fetch"
    community, board = fetched.folder / "community", fetched.folder / "leaderboard" / "public.csv"
    facts, news = fetched.facts, fetched.community
    files = sorted(each.model_dump_json() for each in record.release)
    return CompetitionObserved(
        at=clock.now(),
        deadline=facts.deadline,
        rules_sha256=record.rules_sha256,
        data_sha256=hashlib.sha256("\n".join(files).encode()).hexdigest(),
        community_sha256=hash_tree(community) if community.is_dir() else "",
        leaderboard_sha256=hash_file(board) if board.is_file() else "",
        notebooks=_lines(community / "notebooks.jsonl"),
        discussions=_lines(community / "discussions.jsonl"),
        new_items=news.notebooks + news.discussions + news.datasets,
        teams=facts.teams,
        submissions_left=left,
        closed=str(why_closed(facts) or ""),
    )


def _lines(path: Path) -> int:
    return len(path.read_bytes().splitlines()) if path.is_file() else 0
