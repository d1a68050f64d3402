"""Tasks that import communities into a store, and take snapshots as of a campaign's time."""

from pathlib import Path

from comind.app.inputs import import_and_version, read_and_version_community
from comind.campaign.log.campaign_events import CommunityRead
from comind.community.store.manifest import Import
from tasks import step


@step("open: snapshot", retries=1)
def ingest_community(project: Path, campaign: str) -> CommunityRead:
    """Take and version a snapshot of a campaign's community; one of the same content is reused."""
    return read_and_version_community(project, campaign)


@step("import community", retries=1)
def import_community(project: Path, store: Path, folder: Path, competition: str) -> Import:
    """Import a community folder into a store and version the store; idempotent by content."""
    return import_and_version(project, store, folder, competition)
