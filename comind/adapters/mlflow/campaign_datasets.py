"""Describe the split and the snapshots of a campaign as datasets of MLflow."""

from comind.adapters.mlflow.tracking_store import InputDataset
from comind.campaign.log.campaign_events import CommunityRead, SplitMade
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.splits.split_folder import SplitFolder


def split_dataset(project: ProjectFolder, split: SplitMade) -> InputDataset:
    """Return the public part of a split, with the number of its validation rows."""
    folder = SplitFolder(project.splits / split.key).public.relative_to(project.root)
    rows = {"validation_rows": split.validation_rows}
    sha256 = split.public_sha256 or split.key  # splits of many large files are not hashed
    return InputDataset(split.key, sha256, folder, "training", rows)


def snapshot_dataset(project: ProjectFolder, read: CommunityRead) -> InputDataset:
    """Return a snapshot of the community, with the numbers of its items."""
    folder = (project.communities / read.key).relative_to(project.root)
    items = read.model_dump(include={"notebooks", "discussions", "datasets"})
    return InputDataset(read.key, read.sha256, folder, "community", items)
