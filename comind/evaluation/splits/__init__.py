"""Part the labelled rows: most of them stay public, the labels of the rest are sealed.

plan      what is decided before a file is written
detect    which rule fits, where the folder names none
rules     which rows each rule holds back
side      other public files that would give labels away
answer_files   which of them belong to held-back rows alone
seal      the files of both parts
folder    where they lie
"""

from comind.evaluation.splits.folder import Split, SplitFolder
from comind.evaluation.splits.plan import SplitPlan
from comind.evaluation.splits.seal import make_split, seal
from comind.evaluation.splits.side import as_name, files_below, side_tables

__all__ = [
    "Split",
    "SplitFolder",
    "SplitPlan",
    "as_name",
    "files_below",
    "make_split",
    "seal",
    "side_tables",
]
