"""Check a campaign's logs, ref and data for consistency; each check yields a line per fault."""

from collections.abc import Iterator
from pathlib import Path

from comind.adapters.dvc.restoring import differs_from_log
from comind.adapters.dvc.versioning import find_cache_damage, find_damage
from comind.adapters.git.refs import campaign_commit, campaign_ref, files_at
from comind.app.cut_logs import cut_logs
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeOutcome, Submitted
from comind.campaign.log.work_events import WORK_EVENTS, WorkEnded
from comind.campaign.loop import read_state
from comind.campaign.reports.attempt_lineage import script_for
from comind.errors import ComindError, LogError
from comind.eventlog.log import read_log
from comind.system.files import hash_file, write_atomically


def check_campaign(project: Path, folder: CampaignFolder) -> Iterator[str]:
    """Check the logs of a campaign, its ref and its data, and its work where no log is damaged."""
    damaged = list(check_logs(folder))
    yield from damaged
    yield from _check_ref(project, folder.name)
    state = None if damaged else read_state(folder)
    if state is not None:
        yield from _check_work(folder, state)
    yield from _check_data(project, folder.name, state)


def check_logs(folder: CampaignFolder) -> Iterator[str]:
    """Check the logs of a campaign and of its work."""
    for log in folder.logs():
        try:
            read_log(log, WORK_EVENTS)
        except LogError as error:
            yield str(error)
    try:
        read_state(folder).spec  # noqa: B018 - raises where the first event is missing
    except LogError as error:
        yield str(error)


def _check_ref(project: Path, campaign: str) -> Iterator[str]:
    """Compare the files of the working tree with those of the campaign's ref."""
    if campaign_commit(project, campaign) is None:
        yield f"{campaign_ref(campaign)} is missing; the next resume creates it"
        return
    try:
        held = files_at(project, campaign_ref(campaign))
    except ComindError as error:
        yield f"{campaign_ref(campaign)}: {error}"
        return
    for name, content in held.items():
        path = project / name
        if name.startswith(".dvc/"):
            continue
        if not path.is_file():
            yield f"{path} is missing; {campaign_ref(campaign)} has it"
        elif name.endswith("log.jsonl"):
            if not path.read_bytes().startswith(content):
                yield f"{path} is not the log that {campaign_ref(campaign)} has, or is behind it"
        elif not name.endswith("runs.json") and path.read_bytes() != content:
            yield f"{path} is not what {campaign_ref(campaign)} has"


def restore_missing(project: Path, campaign: str) -> list[str]:
    """Restore files of the ref that are missing here, and the end of cut logs; returns their names."""
    if campaign_commit(project, campaign) is None:
        return []
    held = files_at(project, campaign_ref(campaign))
    missing = {
        name: content
        for name, content in held.items()
        if not name.startswith(".dvc/") and not (project / name).exists()
    }
    restored = missing | cut_logs(project, campaign)
    for name, content in restored.items():
        write_atomically(project / name, content)
    return list(restored)


def _check_work(folder: CampaignFolder, state: CampaignState) -> Iterator[str]:
    """Compare outcomes, submissions and scripts with the logs."""
    for record in state.works:
        work = folder.work(record.id)
        if record.outcome is None:
            continue
        records = read_log(work.log, WORK_EVENTS) if work.log.is_file() else []
        last = records[-1].event if records else None
        if not isinstance(last, WorkEnded) or last.outcome != record.outcome:
            yield f"{work.log} does not end as the campaign's log says"
            continue
        if not isinstance(record.outcome, CodeOutcome) or record.outcome.submitted is None:
            continue
        yield from _check_submission(folder, record.id, record.outcome.submitted)
        script = script_for(state, records, record.id)
        proved = state.proofs.get(record.id)
        if script is None or not work.script(script.file_name).is_file():
            continue
        path = work.script(script.file_name)
        if hash_file(path) != (proved.script_sha256 if proved else script.sha256):
            yield f"{path} is not the script that was recorded"


def _check_submission(folder: CampaignFolder, work_id: str, submitted: Submitted) -> Iterator[str]:
    work = folder.work(work_id)
    for path, sha256 in work.files_of(submitted):
        if path.is_file() and hash_file(path) != sha256:
            yield f"{path} is not what was graded"


def _check_data(project: Path, campaign: str, state: CampaignState | None) -> Iterator[str]:
    """Compare versioned data with its hashes, in the working tree and in DVC's cache."""
    if campaign_commit(project, campaign) is None:
        return
    for name, pointer in files_at(project, campaign_ref(campaign), suffix=".dvc").items():
        data = project / name.removesuffix(".dvc")
        here = data.exists()
        if here:
            yield from (f"{data}: {each}" for each in find_damage(project, data, pointer))
        for each in find_cache_damage(project, pointer):
            lost = "is neither here nor in" if not here and "missing" in each else "in"
            yield f"{data}: {lost} DVC's cache: {each} (dvc pull restores it from the remote)"
    if state is not None:
        yield from (f"{path} is not what the log names" for path in differs_from_log(project, state))
