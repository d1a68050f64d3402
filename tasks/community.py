"""Communities: take them into a store, and keep what was known at a campaign's as-of time."""

from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from comind.campaign.events import CommunityRead
from comind.campaign.folder import ProjectFolder
from comind.campaign.loop import read_state
from comind.community.snapshot import take_snapshot
from comind.community.store.ingest import ingest_folder
from comind.community.store.manifest import Import
from comind.errors import CampaignError
from comind.system.files import hash_tree
from tasks.versioning import pointer_of, recorded_md5, version

__all__ = ["STORE", "import_community", "ingest_community", "version_store"]

STORE = Path("data", "knowledge", "community")
"""Where a project keeps its store, unless another is named."""


@task(cache_policy=NO_CACHE, retries=0)  # a bad folder stays bad; a crash is repaired by resuming
def ingest_community(project: Path, campaign: str) -> CommunityRead:
    """Take the snapshot of a campaign's community; one with this content is used as it is."""
    folder = ProjectFolder(project)
    state = read_state(folder.campaign(campaign))
    if state.split is None:
        raise CampaignError(f"the campaign {campaign} has no split yet")
    snapshot = take_snapshot(
        Path(state.spec.community),
        folder.communities,
        competition=state.spec.competition,
        as_of=state.spec.as_of,
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


@task(cache_policy=NO_CACHE, retries=0)  # what was killed goes on when it is run again
def import_community(project: Path, store: Path, folder: Path, competition: str) -> Import:
    """Take a community folder into a store and version it; the same content is taken once."""
    done = ingest_folder(store, folder, competition)
    version_store(project, store)
    return done.record


def version_store(project: Path, store: Path) -> str:
    """Put a store under DVC and return its hash; empty for one outside of the project.

    Files of a store never change once they are named in it, so a version shares all of them with the one
    before; where the file system can link, the cache takes no second copy.

    Raises:
        OrchestrationError: DVC refuses.
    """
    if not store.resolve().is_relative_to(project.resolve()):
        return ""
    version(project, [store])
    return recorded_md5(pointer_of(store))
