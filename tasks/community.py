"""Communities: keep what was known at a campaign's as-of time."""

from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from comind.campaign.events import CommunityRead
from comind.campaign.folder import ProjectFolder
from comind.campaign.loop import read_state
from comind.community.snapshot import take_snapshot
from comind.errors import CampaignError
from comind.system.files import hash_tree

__all__ = ["ingest_community"]


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
