"""Show a campaign's results on Prefect's page: its split, leaderboard and journal as artifacts."""

import csv
import io
import os
import re

from prefect.artifacts import create_markdown_artifact, create_table_artifact

from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.system.health import answers
from tasks import step

_SECONDS = 2.0  # for a server to answer, else nothing is shown


# The same files are in the campaign's folder, so nothing is lost without a retry.
@step(retries=0)
def show_results(folder: CampaignFolder, state: CampaignState) -> None:
    """Create the artifacts CAMPAIGN-split, CAMPAIGN-leaderboard and CAMPAIGN-journal, as far as known.

    Does nothing where the server does not answer.
    """
    if not _server_answers():
        return
    key = _key(folder.name)
    if state.split is not None:
        made = state.split
        lines = [f"# Split {made.key}", "", made.rule, "", f"Metric: {made.metric}", ""]
        create_markdown_artifact(
            "\n".join(lines), key=f"{key}-split", description="how rows were held out"
        )
    if folder.leaderboard.is_file():
        rows = list(csv.DictReader(io.StringIO(folder.leaderboard.read_text())))
        create_table_artifact(rows, key=f"{key}-leaderboard", description="scored attempts, best first")
    if folder.journal.is_file():
        create_markdown_artifact(folder.journal.read_text(), key=f"{key}-journal")


# The same file is in the project, so nothing is lost without a retry.
@step(retries=0)
def show_report(slug: str, report: str) -> None:
    """Create the artifact following-SLUG, the history of a followed competition, on Prefect's page.

    Does nothing where the server does not answer.
    """
    if _server_answers():
        create_markdown_artifact(report, key=f"following-{_key(slug)}", description="history by day")


def _server_answers() -> bool:
    return answers(f"{os.environ.get('PREFECT_API_URL', '')}/health", timeout=_SECONDS)


def _key(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower())
