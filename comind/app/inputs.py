"""Make and version what campaigns read: splits, stores of communities and snapshots of them."""

from pathlib import Path

from comind.adapters.dvc.versioning import pointer_of, recorded_md5, version
from comind.campaign.log.campaign_events import CommunityRead, SplitMade
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.loop import read_state
from comind.community.snapshot import take_snapshot
from comind.community.store.folder_import import ingest_folder
from comind.community.store.manifest import Import
from comind.errors import CampaignError
from comind.splits.split_folder import SplitFolder
from comind.system.failpoints import failpoint
from comind.system.files import hash_tree
from comind.wiring.competition_data import split_campaign


def split_and_version(project: Path, campaign: str) -> SplitMade:
    """Split a campaign's competition, and add the public and the sealed part to DVC, separately.

    An existing split of the same content is reused.
    """
    made = split_campaign(project, campaign)
    split = SplitFolder(ProjectFolder(project).splits / made.key)
    version(project, [split.public, split.sealed])
    failpoint("split-versioned")
    return made


def read_and_version_community(project: Path, campaign: str) -> CommunityRead:
    """Take a snapshot as `read_community` does, and add it to DVC."""
    read = read_community(project, campaign)
    version(project, [ProjectFolder(project).communities / read.key])
    failpoint("community-read")
    return read


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
        selection=state.spec.selection,
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
        further=len(view.further_notebooks) + len(view.further_discussions),
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
