"""Show a campaign's results on Prefect's page: its split, leaderboard and journal as artifacts."""

import csv
import io
import json
import os
import re
from pathlib import Path

from prefect.artifacts import create_markdown_artifact, create_table_artifact

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.loop import read_state
from comind.system.health import answers
from tasks import step

_SECONDS = 2.0  # for a server to answer, else nothing is shown


# The same files are in the campaign's folder, so nothing is lost without a retry.
@step("close: show results", retries=0)
def show_results(project: Path, campaign: str) -> None:
    """Create the artifacts COMPETITION-split, -leaderboard and -journal, as far as known.

    Each campaign of a competition adds a version. Does nothing where the server does not answer.
    """
    if not _server_answers():
        return
    folder = ProjectFolder(project).campaign(campaign)
    state = read_state(folder)
    key, tracked = _key(state.spec.competition), _mlflow_run(project, campaign)
    if state.split is not None:
        made = state.split
        lines = [f"# Split {made.key}", "", made.rule, "", f"Metric: {made.metric}", ""]
        create_markdown_artifact(
            "\n".join(lines), key=f"{key}-split", description=f"{campaign}: how rows were held out"
        )
    if folder.leaderboard.is_file():
        rows = list(csv.DictReader(io.StringIO(folder.leaderboard.read_text())))
        about = f"{campaign}: scored attempts, best first{tracked}"
        create_table_artifact(rows, key=f"{key}-leaderboard", description=about)
    if folder.journal.is_file():
        about = f"{campaign}: attempts by parent, and how it was closed{tracked}"
        create_markdown_artifact(folder.journal.read_text(), key=f"{key}-journal", description=about)


# The same file is in the project, so nothing is lost without a retry.
@step("show report", retries=0)
def show_report(slug: str, report: str) -> None:
    """Create the artifact following-SLUG, the history of a followed competition, on Prefect's page.

    Does nothing where the server does not answer.
    """
    if _server_answers():
        create_markdown_artifact(report, key=f"following-{_key(slug)}", description="history by day")


def _mlflow_run(project: Path, campaign: str) -> str:
    """Return the end of a description that names the campaign's run in MLflow."""
    runs = ProjectFolder(project).campaign(campaign).runs
    return f"; MLflow run {json.loads(runs.read_text())[campaign]}" if runs.is_file() else ""


def _server_answers() -> bool:
    return answers(f"{os.environ.get('PREFECT_API_URL', '')}/health", timeout=_SECONDS)


def _key(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower())
