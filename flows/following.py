"""The flow that follows a competition: one run a day, on top of all that was done before."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prefect import flow, get_run_logger, runtime

from comind.campaign.folder import ProjectFolder
from comind.campaign.loop import read_state
from comind.campaign.state import CampaignState
from comind.community.folder import is_community_folder
from comind.domain.metric import Paired
from comind.domain.value import Value
from comind.errors import CampaignError
from comind.following.day import CampaignStatus, Day, ObservedCompetition, Plan
from comind.following.events import Candidate, CompetitionObserved
from comind.following.journal import FollowingLog, following_log
from comind.kaggle.board import read_board
from comind.kaggle.clock import Clock, ServerClock
from comind.kaggle.fetch import Fetched
from comind.kaggle.handin import why_closed
from comind.kaggle.port import Kaggle
from comind.kaggle.record import FetchRecord
from comind.system.files import hash_file, hash_tree, write_atomically
from comind.wiring.kaggle import open_kaggle
from comind.wiring.runtime import close_runtimes, get_runtime
from flows.campaign import solve_competition
from flows.opening import open_campaign, resume_campaign
from flows.params import read_params
from tasks.community import STORE, import_community
from tasks.competitions import fetch_from_kaggle
from tasks.git import commit_files, following_ref
from tasks.tracking.following import FollowingTracker
from tasks.versioning import pointer_of, version

__all__ = ["FollowingParams", "follow_competition"]


class FollowingParams(Value):
    """How a competition is followed; values of `solve` go to its campaigns."""

    plan: Plan = Plan()
    solve: dict[str, Any] = {}
    profile: str | None = None


def _run_name() -> str:
    return f"following {runtime.flow_run.parameters['slug']}"


@flow(flow_run_name=_run_name, persist_result=False, retries=0)  # the next day goes on from the log
def follow_competition(project: Path, slug: str, params: FollowingParams) -> None:
    """Follow a competition for a day: look, think, perhaps hand in, and see where we stand.

    Raises:
        ComindError: something is missing or refuses; the next run goes on from where this one was.
    """
    with FollowingLog(project, slug) as log:
        time = ServerClock()
        kaggle = open_kaggle(read_params(project).kaggle, time)
        slices = _CampaignSlices(project, slug, params, kaggle, time)
        try:
            Day(slug, log, kaggle, slices, params.plan, time).run()
        finally:
            _keep(project, slug)


def _keep(project: Path, slug: str) -> None:
    """Version what was seen, show where we stand, and commit both; done again, it changes nothing."""
    seen = ProjectFolder(project).kaggle / slug
    pointers = version(project, [seen]) if (seen / "competition.yaml").is_file() else []
    store = pointer_of(project / STORE)
    pointers += [store] if store.is_file() else []
    FollowingTracker(project, slug).sync()
    log = following_log(project, slug)
    if log.stat().st_size:
        files = [project / ".dvc" / "config", log, *pointers]
        commit_files(project, following_ref(slug), files, f"{slug}: a day")


@dataclass(frozen=True, slots=True)
class _CampaignSlices:
    """Looks through Kaggle's adapter, and runs campaigns of this project."""

    project: Path
    slug: str
    params: FollowingParams
    kaggle: Kaggle
    clock: Clock

    def look(self) -> ObservedCompetition:
        """Fetch what is new; how many submissions are left is asked for last."""
        fetched = fetch_from_kaggle(self.project, self.slug, read_params(self.project).kaggle)
        for note in fetched.notes:
            get_run_logger().info(note)
        community = fetched.folder / "community"
        if is_community_folder(community):
            import_community(self.project, self.project / STORE, community, self.slug)
        left = self.kaggle.limits(self.slug).allowed_now
        return ObservedCompetition(
            looked=_looked(fetched, self.clock, left),
            competition=fetched.folder,
            leaderboard=read_board(fetched.folder / "leaderboard"),
        )

    def open(self, competition: Path, seconds: float, usd: float | None) -> str:
        """Open a campaign with this budget."""
        nobody_yet = competition / "community" / "notebooks.jsonl"
        if not is_community_folder(nobody_yet.parent):  # whoever writes later is read, too
            write_atomically(nobody_yet, "")
        wishes = self.params.solve | {"minutes": seconds / 60, "max_usd": usd}
        tell = get_run_logger().info
        return open_campaign(self.project, competition, wishes, self.params.profile, tell).name

    def extend(self, campaign: str, seconds: float, usd: float | None) -> None:
        """Raise the budget of a campaign by so much above what it has spent; tokens as at its start."""
        state = read_state(ProjectFolder(self.project).campaign(campaign))
        spent, tokens = state.spend, state.spec.budget.tokens
        limits = {
            "seconds": spent.seconds + seconds,
            "usd": None if usd is None else spent.usd + usd,
            "usd_before": spent.usd,
            "tokens": None if tokens is None else spent.tokens + tokens,
            "tokens_before": spent.tokens,
        }
        resume_campaign(self.project, campaign, limits, get_run_logger().info)

    def stand(self, campaign: str) -> CampaignStatus:
        """Return what a campaign has taken, and what it would hand in."""
        state = read_state(ProjectFolder(self.project).campaign(campaign))
        return CampaignStatus(
            seconds=state.spend.seconds,
            usd=state.spend.usd,
            attempts=len(state.works.attempts()),
            candidate=_candidate(campaign, state),
        )

    def run(self, campaign: str) -> None:
        """Run a campaign to the end of its budget, on what the community knows by now."""
        if read_state(ProjectFolder(self.project).campaign(campaign)).ended is None:
            solve_competition(self.project, campaign, refresh=True)

    def compare(self, one: Candidate, other: Candidate) -> Paired | None:
        """Return how much better the first is than the second; None where they are of other rows."""
        folders = [ProjectFolder(self.project).campaign(each.campaign) for each in (one, other)]
        one_split, other_split = (read_state(folder).split for folder in folders)
        # The key names the rows; other fields may be of another version of CoMind.
        if one_split is None or other_split is None or one_split.key != other_split.key:
            return None
        try:
            grader = get_runtime(self.project, one.campaign).grader
            return grader.compare(self._validation(one), self._validation(other))
        finally:
            close_runtimes()

    def file_of(self, candidate: Candidate) -> Path:
        """Return the graded file of these very bytes; what the campaign delivers goes on changing."""
        folder = ProjectFolder(self.project).campaign(candidate.campaign)
        for each in read_state(folder).works.codes():
            if each.submitted is not None and each.submitted.test_sha256 == candidate.sha256:
                return folder.work(each.id).test_submission(each.submitted.step)
        raise CampaignError(f"{candidate.campaign}: nothing there was handed in as it was decided on")

    def _validation(self, candidate: Candidate) -> Path:
        folder = ProjectFolder(self.project).campaign(candidate.campaign)
        return folder.validation_of(read_state(folder).works.attempt(candidate.attempt))


def _candidate(campaign: str, state: CampaignState) -> Candidate | None:
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
    files = sorted(each.model_dump_json() for each in record.files)
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
