"""Remove the temporary folders with labels that killed processes left in a project."""

from pathlib import Path

from comind.campaign.log.campaign_folders import EVALUATOR, ProjectFolder
from comind.eventlog.log import is_written
from comind.splits.extra_folds import LABELLED
from comind.system.supervisor import remove_tree
from comind.system.temporary_folders import STAGED, remove_stale_folders, remove_stale_staging

PROOF = "proof"
"""Prefix of folders in which scripts are proved, in the folder of their work."""
REPRODUCTION = "reproduce"
_STAGING = (
    ("data/splits", STAGED),
    ("data/splits/*", STAGED),
    ("data/demos", STAGED),
    ("runs/*/*", PROOF),
)
"""Parents and prefixes of folders with a lock of their own."""


def reproductions(project: Path) -> Path:
    """Return the folder in which campaigns are reproduced, on the disk of DVC's cache."""
    return project / ".dvc" / "tmp"


def remove_leftovers(project: ProjectFolder) -> list[Path]:
    """Remove staged splits and folds, proofs and reproductions of killed processes; return their paths.

    So are the workspaces of killed campaigns in which a model wrote the split. What living processes use
    stays: they hold a lock on each folder, or on the campaign's log.
    """
    root = project.root
    staged = [
        removed
        for parents, prefix in _STAGING
        for home in sorted({found.parent for found in root.glob(f"{parents}/{prefix}-*")})
        for removed in remove_stale_staging(home, prefix)
    ]
    for further in sorted(project.splits.glob("*/further")):
        staged += remove_stale_folders(further, LABELLED)
    for campaign in map(project.campaign, project.campaigns()):
        workspace = campaign.work(EVALUATOR).workspace  # emptied as well when the campaign is resumed
        if workspace.is_dir() and not is_written(campaign.log):
            remove_tree(str(workspace))
            staged.append(workspace)
    return staged + remove_stale_folders(reproductions(root), REPRODUCTION)
