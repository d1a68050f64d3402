"""Import communities into a store, and take snapshots as of a campaign's time."""

from pathlib import Path

from comind.adapters.dvc.versioning import pointer_of, recorded_md5, version
from comind.campaign.log.campaign_events import CommunityRead
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.loop import read_state
from comind.community.snapshot import take_snapshot
from comind.community.store.folder_import import ingest_folder
from comind.community.store.manifest import Import
from comind.errors import CampaignError
from comind.system.files import hash_tree


def read_community(project: Path, campaign: str) -> CommunityRead:
    """Take a snapshot of a campaign's community; one with the same content is reused."""
    folder = ProjectFolder(project)
    state = read_state(folder.campaign(campaign))
    if state.split is None:
        raise CampaignError(f"the campaign {campaign} has no split yet")
    snapshot = take_snapshot(
        Path(state.spec.community),
        folder.communities,
        competition=state.spec.competition,
        as_of=state.spec.cutoff,
        maximize=state.split.maximize,
        notebooks=state.spec.notebooks,
        discussions=state.spec.discussions,
    )
    view = snapshot.read()
    return CommunityRead(
        key=snapshot.key,
        sha256=hash_tree(snapshot.root),
        as_of=view.as_of,
        notebooks=len(view.notebooks),
        discussions=len(view.discussions),
        datasets=len(view.datasets),
        left_out=len(view.left_out),
    )


def import_and_version(project: Path, store: Path, folder: Path, competition: str) -> Import:
    """Import a community folder into a store and version the store; idempotent by content."""
    done = ingest_folder(store, folder, competition)
    version_store(project, store)
    return done.record


def version_store(project: Path, store: Path) -> str:
    """Add a store to DVC; returns its hash, or "" for a store outside of the project.

    Files of a store are immutable, so versions share them; where the file system supports links, the
    cache needs no second copy.

    Raises:
        OrchestrationError: DVC fails.
    """
    if not store.resolve().is_relative_to(project.resolve()):
        return ""
    version(project, [store])
    return recorded_md5(pointer_of(store))
