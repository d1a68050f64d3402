"""Check logs, refs, data and MLflow for consistency; rebuild what is derived from the logs."""

from pathlib import Path
from typing import Any

from comind.adapters.git.refs import campaign_ref, campaigns_in, commit_files
from comind.adapters.mlflow.campaign import CampaignTracker
from comind.adapters.mlflow.campaign_runs import delete_duplicate_runs, delete_runs
from comind.adapters.mlflow.database import database_damage, set_database_aside
from comind.app.checking import check_campaign, check_logs, restore_missing
from comind.app.reporting import page_of
from comind.campaign.log.campaign_folders import CampaignFolder, ProjectFolder, unknown_campaign
from comind.campaign.loop import read_state
from comind.eventlog.log import is_written
from comind.system.files import write_atomically
from comind.system.progress import step


def repair(project: Path, name: str | None, *, from_scratch: bool) -> dict[str, Any]:
    """Check and rebuild one campaign of a project, or all for None.

    Returns:
        Names of the checked `campaigns`; `disagreements` and `repaired`, a line each.

    Raises:
        CampaignError: there is no campaign of this name.
    """
    known = sorted({*campaigns_in(project), *ProjectFolder(project).campaigns()})
    if name is not None and name not in known:
        raise unknown_campaign(project, name, known)
    disagreements: list[str] = []
    repaired: list[str] = []
    if damage := database_damage(project):
        aside = set_database_aside(project)
        repaired.append(f"MLflow's database ({damage}) was moved to {aside}; its runs are rebuilt")
        name = None  # it holds the runs of all campaigns
    checked = [name] if name is not None else known
    for number, campaign in enumerate(checked, 1):
        with step(f"comind repair: {campaign}, {number} of {len(checked)}"):
            wrong, done = _repair_campaign(project, campaign, from_scratch=from_scratch)
        disagreements += wrong
        repaired += done
    return {"campaigns": checked, "disagreements": disagreements, "repaired": repaired}


def _repair_campaign(project: Path, campaign: str, *, from_scratch: bool) -> tuple[list[str], list[str]]:
    """Return the disagreements of one campaign, and its repairs."""
    folder = ProjectFolder(project).campaign(campaign)
    if is_written(folder.log):
        return [], [f"{campaign} is running; it was skipped"]
    done = [f"{project / name} was restored from the ref" for name in restore_missing(project, campaign)]
    with step(f"comind repair: checking logs, ref and data of {campaign}"):
        wrong = list(dict.fromkeys(check_campaign(project, folder)))
    if any(check_logs(folder)):
        wrong.append(f"{campaign}: MLflow was left as it is, since a log is damaged")
        return wrong, done
    with step(f"comind repair: rebuilding MLflow's runs of {campaign}"):
        done += _rebuild(project, folder, from_scratch=from_scratch)
    return wrong, done


def _rebuild(project: Path, folder: CampaignFolder, *, from_scratch: bool) -> list[str]:
    """Rebuild MLflow's runs from the logs; existing runs keep their ids, duplicates are deleted."""
    if from_scratch:
        deleted = delete_runs(project, folder.name)
        done = [f"{folder.name}: {deleted} MLflow runs were deleted, to be rebuilt"]
    else:
        deleted = delete_duplicate_runs(project, folder.name)
        done = [f"{folder.name}: {deleted} duplicate MLflow runs were deleted"] if deleted else []
    tracker = CampaignTracker(project, folder.name)
    tracker.sync()
    ids = tracker.run_ids_json()
    if not folder.runs.is_file() or folder.runs.read_text() != ids:
        if read_state(folder).ended is not None:
            tracker.log_page(page_of(folder))
        write_atomically(folder.runs, ids)
        commit_files(project, campaign_ref(folder.name), [folder.runs], f"{folder.name}: MLflow rebuilt")
        done.append(f"{folder.name}: MLflow was rebuilt from the logs")
    return done
