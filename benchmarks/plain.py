"""Compare competition folders with the plain download of their files: metric, ids, targets, rows.

Each folder's public files are copied, its tables renamed, and arranged without its `competition.yaml`.
"""

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from comind.app.downloads import prepare_download
from comind.competitions.competition_folder import load_competition
from comind.splits.checked_plan import check_competition

NAMES = {
    "train.csv": "Training_Data.csv",
    "test.csv": "Test Data.csv",
    "sample_submission.csv": "sampleSubmission_v2.csv",
}


class Understood(NamedTuple):
    """What an inspection finds."""

    metric: str
    ids: tuple[str, ...]
    targets: tuple[str, ...]
    rule: str
    rows: frozenset[int]


def main() -> None:
    """Print a line for each folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "folders", nargs="*", type=Path, help="competition folders, with competition.yaml"
    )
    folders = parser.parse_args().folders
    print(f"{'competition':<46}{'metric':<10}{'ids':<10}{'targets':<10}{'rows shared':<14}rules")
    for folder in folders:
        with tempfile.TemporaryDirectory() as scratch:
            given, found = understand(folder), understand(arranged(folder, Path(scratch)))
        both = len(given.rows & found.rows) / len(given.rows | found.rows)
        same = ["same" if a == b else "OTHER" for a, b in zip(given[:3], found[:3], strict=True)]
        rules = given.rule if given.rule == found.rule else f"{given.rule} | {found.rule}"
        print(f"{folder.name:<46}" + "".join(f"{word:<10}" for word in same) + f"{both:<14.0%}{rules}")


def arranged(folder: Path, scratch: Path) -> Path:
    """Return the competition folder that is made of a folder's public files."""
    download = scratch / folder.name
    shutil.copytree(folder / "public", download)
    for name, other in NAMES.items():
        (download / name).rename(download / other)
    (scratch / "project").mkdir()
    return prepare_download(download, scratch / "project").folder


def understand(folder: Path) -> Understood:
    """Return what an inspection of a competition folder finds."""
    plan = check_competition(load_competition(folder))
    rule = plan.rule
    about = f"{rule.kind} {rule.column}" if rule.column else rule.kind
    rows = frozenset(plan.rows)
    return Understood(plan.metric.name, plan.ids, plan.targets, about, rows)


if __name__ == "__main__":
    main()
