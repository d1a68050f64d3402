"""Restore a campaign from its ref and the DVC remote into a separate folder."""

import json
from collections.abc import Iterator
from pathlib import Path

from comind.adapters.dvc.versioning import find_damage, pull
from comind.adapters.git.refs import (
    campaign_commit,
    campaign_ref,
    campaigns_in,
    fetch_campaigns,
    files_at,
    has_remote,
)
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work_events import WORK_EVENTS
from comind.campaign.loop import read_state
from comind.errors import CampaignError, DataError
from comind.eventlog.log import read_log
from comind.system.files import hash_tree, write_atomically

_ORIGIN = "origin"
_SETTINGS = ".dvc/config"
_KNOWN = 3


def find_campaign(project: Path, name: str) -> tuple[str, str | None]:
    """Resolve `name` to a campaign and, where it names an attempt, the attempt.

    A name is a campaign, `CAMPAIGN/attempt-000`, or the id of an MLflow run. Refs are fetched from
    `origin` where none here matches.

    Raises:
        CampaignError: there is no such campaign or run, here or at `origin`.
    """
    found = _look_up(project, name)
    if found is None and has_remote(project, _ORIGIN) and fetch_campaigns(project, _ORIGIN):
        found = _look_up(project, name)
    if found is None:
        known = campaigns_in(project)
        raise CampaignError(
            f"{project}: there is no campaign or run {name!r}",
            hint=f"campaigns with a ref here: {', '.join(known[-_KNOWN:])}"
            if known
            else "fetch it: git fetch ORIGIN 'refs/comind/*:refs/comind/*'",
        )
    return found


def _look_up(project: Path, name: str) -> tuple[str, str | None] | None:
    campaign, _, attempt = name.partition("/")
    known = campaigns_in(project)
    if campaign in known:
        return campaign, attempt or None
    for each in known:
        for file, content in files_at(project, campaign_ref(each), suffix="/runs.json").items():
            ids: dict[str, str] = json.loads(content)
            work = next((work for work, run_id in ids.items() if run_id == name), None)
            if work is not None and file == f"runs/{each}/runs.json":
                return each, None if work == each else work
    return None


def restore_logs(project: Path, campaign: str, place: Path) -> CampaignState:
    """Write the files of the campaign's ref below `place`, without data, and return its state.

    Raises:
        CampaignError: the campaign has no ref here.
        LogError: a log was changed.
    """
    if campaign_commit(project, campaign) is None:
        raise CampaignError(f"{project}: the campaign {campaign} has no ref here")
    for name, content in files_at(project, campaign_ref(campaign)).items():
        if name.endswith(".dvc") or name.startswith(".dvc/"):
            continue
        target = place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    folder = ProjectFolder(place).campaign(campaign)
    for log in folder.logs():
        read_log(log, WORK_EVENTS)
    return read_state(folder)


def restore_settings(project: Path, campaign: str) -> None:
    """Copy the DVC settings of the campaign's ref, including remotes, to a new repository."""
    settings = files_at(project, campaign_ref(campaign), suffix=_SETTINGS)
    for name, content in settings.items():
        write_atomically(project / name, content)


def restore_data(
    project: Path, campaign: str, place: Path, state: CampaignState, work_ids: list[str]
) -> None:
    """Restore the data that the work `work_ids` needs below `place`, and verify every hash.

    Where the project has no default remote, that of the campaign's ref is read; no settings are changed.

    Raises:
        OrchestrationError: something is neither in the cache nor at the remote.
        DataError: restored data differs from the version or from the log.
    """
    wanted = {f"{name}.dvc" for name in required_data(campaign, state, work_ids)}
    held = files_at(project, campaign_ref(campaign), suffix=".dvc")
    missing = sorted(wanted - held.keys())
    if missing:
        raise DataError(f"the ref of {campaign} has no pointer {missing[0]}")
    pointers = {name: content for name, content in held.items() if name in wanted}
    settings = files_at(project, campaign_ref(campaign), suffix=_SETTINGS).get(_SETTINGS, b"")
    pull(project, place, pointers, settings)
    for name, content in pointers.items():
        problem = next(find_damage(project, place / name.removesuffix(".dvc"), content), None)
        if problem is not None:
            raise DataError(f"{name.removesuffix('.dvc')}: {problem}", hint=_HINT)
    for path in differs_from_log(place, state):
        raise DataError(f"{path.relative_to(place)}: is not what the campaign's log says", hint=_HINT)


_HINT = "restore it from another copy of the cache or of the remote"


def required_data(campaign: str, state: CampaignState, work_ids: list[str]) -> Iterator[str]:
    """Yield paths of the data that running the scripts of `work_ids` and grading them needs."""
    assert state.split is not None
    folder = ProjectFolder(Path())
    yield from (f"data/splits/{state.split.key}/{part}" for part in ("public", "sealed"))
    for work_id in work_ids:
        work = state.works[work_id].work
        assert work.kind == "code"
        yield str(folder.published(campaign, work_id))
        for given in work.inputs:
            if "/" in given:
                yield from (f"data/community/{read.key}" for read in state.known_to(work_id))
            else:
                yield str(folder.published(campaign, given))


def differs_from_log(project: Path, state: CampaignState) -> Iterator[Path]:
    """Yield existing folders of split and community whose hash differs from the campaign's log."""
    folder = ProjectFolder(project)
    expected = {folder.communities / read.key: read.sha256 for read in state.communities}
    if state.split is not None:
        split = folder.splits / state.split.key
        expected[split / "public"] = state.split.public_sha256
        expected[split / "sealed"] = state.split.sealed_sha256
    for path, sha256 in expected.items():
        if path.is_dir() and hash_tree(path) != sha256:
            yield path
