"""Submit a campaign's submission, or a file, to Kaggle once, and wait for its public score."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from comind.adapters.dvc.versioning import ensure_repository
from comind.adapters.git.refs import commit_files, following_ref
from comind.app.campaign_slices import candidate_of
from comind.app.candidate_files import write_upload
from comind.app.params import read_params
from comind.app.projects import announce_project
from comind.campaign.log.campaign_folders import ProjectFolder, unknown_campaign
from comind.campaign.loop import read_state
from comind.errors import CampaignError, UsageError
from comind.following.events import Candidate, SubmittedFile
from comind.following.history import submission_values
from comind.following.state import FollowingLog, following_log_path
from comind.following.submission import reconcile_submissions, submit_candidate, wait_for_scores
from comind.kaggle.data_files import FetchRecord
from comind.kaggle.fetch import slug_of
from comind.kaggle.port import Kaggle
from comind.kaggle.settings import KaggleSettings
from comind.kaggle.submittable import check_submittable
from comind.system.files import hash_file
from comind.system.progress import step
from comind.system.timing import ServerClock
from comind.wiring.competition_data import open_kaggle

_LONGEST_MESSAGE = 200


class ScoreWait(NamedTuple):
    """Limit and interval of waiting for a score, in seconds."""

    seconds: float = 600
    every: float = 15


class _Submission(NamedTuple):
    slug: str
    what: Candidate | SubmittedFile
    file: Path


def submit(
    project: Path,
    name: str,
    competition: str | None,
    message: str = "",
    *,
    wait: ScoreWait = ScoreWait(),  # noqa: B008 - immutable
    connect: Callable[[KaggleSettings, ServerClock], Kaggle] = open_kaggle,
) -> dict[str, Any]:
    """Submit once, also after a kill: what is known of the file is returned, and it is not sent again.

    Args:
        project: a project; its log of the competition is that of `comind track`.
        name: an ended campaign, or a file.
        competition: its name on Kaggle; None where the campaign's data were fetched from there.
        message: description on Kaggle, before a part of the file's hash; empty: campaign and attempt.
        wait: for the score.
        connect: returns the client.

    Returns:
        The values of `comind submit --json`.

    Raises:
        UsageError: there is no such campaign, file or competition.
        KaggleError: Kaggle accepts no file now, or cannot be reached.
    """
    text = _checked(message)
    found = _find(project, name, competition)
    time = ServerClock()
    kaggle = connect(read_params(project).kaggle, time)
    facts = kaggle.competition(found.slug)
    announce_project(project)
    ensure_repository(project)
    with FollowingLog(project, found.slug) as log:
        reconcile_submissions(log, kaggle, found.slug, time.now())
        sent = log.state.submission_of(found.what, hash_file(found.file)) is None
        if sent:
            check_submittable(facts, kaggle.limits(found.slug), time.now())
            with step(f"comind submit: sending {found.file.name} to {found.slug}"):
                submit_candidate(log, kaggle, found.slug, found.what, found.file, time.now(), text)
        with step(f"comind submit: waiting for the score, at most {wait.seconds / 60:.0f} minutes"):
            wait_for_scores(log, kaggle, found.slug, time, seconds=wait.seconds, every=wait.every)
        known = log.state.submission_of(found.what, hash_file(found.file))
    path = following_log_path(project, found.slug)
    commit_files(project, following_ref(found.slug), [path], f"{found.slug}: a submission")
    if known is None:
        raise CampaignError(
            f"{found.slug}: Kaggle's list of submissions does not have {found.file.name}",
            hint="run the same command again to send it",
        )
    return {**submission_values(found.slug, known), "file": str(found.file), "sent": sent}


def _checked(message: str) -> str:
    text = message.strip()
    if len(text) > _LONGEST_MESSAGE or not text.isprintable():
        raise UsageError(f"--message: is not one line of at most {_LONGEST_MESSAGE} characters")
    return text


def _find(project: Path, name: str, competition: str | None) -> _Submission:
    slug = slug_of(competition) if competition is not None else None
    if competition is not None and slug is None:
        raise UsageError(f"{competition[:200]}: is no name of a competition on Kaggle")
    if Path(name).is_file():
        if slug is None:
            raise UsageError(f"{name}: for which competition?", hint="name it with --competition SLUG")
        file = Path(name).absolute()
        return _Submission(slug, SubmittedFile(name=file.name, sha256=hash_file(file)), file)
    return _of_campaign(project, name.strip("/").removeprefix("runs/"), slug)


def _of_campaign(project: Path, name: str, slug: str | None) -> _Submission:
    here = ProjectFolder(project)
    if name not in here.campaigns():
        error = unknown_campaign(here.runs, name, here.campaigns())
        raise CampaignError(f"{error}, and no such file", hint=error.hint)
    folder, state = here.campaign(name), read_state(here.campaign(name))
    if state.ended is None:
        raise CampaignError(
            f"{name} has not ended",
            hint=f"comind solve --resume {name}; or submit its best file so far, {folder.submission}",
        )
    candidate = candidate_of(name, state)
    if candidate is None or not folder.submission.is_file():
        raise CampaignError(f"{name} has no submission")
    if hash_file(folder.submission) != candidate.sha256:
        raise CampaignError(f"{folder.submission} was changed after it was graded")
    record = FetchRecord.read(Path(state.spec.competition_folder))
    fetched = record.facts.slug if record is not None else None
    if fetched is not None and slug not in (None, fetched):
        raise UsageError(f"{name} solves {fetched}, not {slug}")
    target = slug or fetched
    if target is None:
        raise UsageError(
            f"{name}: {state.spec.competition} was not fetched from Kaggle",
            hint="name its competition there with --competition SLUG",
        )
    return _Submission(target, candidate, write_upload(here, state, folder.submission, folder.upload))
