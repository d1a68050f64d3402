"""Which files of a cell are graded: a fresh pair, under the given names or the usual ones."""

from pathlib import Path

import pytest

from comind.campaign.attempt import SubmissionNames
from comind.campaign.folder import WorkFolder
from comind.campaign.handin import HandIn

_OTHER = SubmissionNames(validation="v.csv", test="t.csv")
_USUAL = ("validation_submission.csv", "submission.csv")


@pytest.mark.parametrize(
    ("written", "named", "taken", "reason"),
    [
        (_USUAL, None, "validation_submission.csv", ""),
        (("v.csv", "t.csv"), _OTHER, "v.csv", ""),
        (_USUAL, _OTHER, "validation_submission.csv", ""),
        ((), None, None, ""),
        (("v.csv", "t.csv"), None, None, ""),
        ((), _OTHER, None, "v.csv: there is no such file"),
        (_USUAL[1:], None, None, "validation_submission.csv: there is no such file"),
        ((), SubmissionNames(validation="../x", test="/etc/passwd"), None, "is not the name of a file"),
    ],
    ids=["usual", "named", "named wrongly", "none", "unnamed", "named, absent", "half", "path-like"],
)
def test_a_pair_is_found(
    tmp_path: Path,
    written: tuple[str, ...],
    named: SubmissionNames | None,
    taken: str | None,
    reason: str,
) -> None:
    """A fresh pair is taken in as it is; without one there is a reason, if anything was tried."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    folder = WorkFolder(tmp_path / "attempt")
    hand_in = HandIn(workspace, named)
    for name in written:
        (workspace / name).write_text(name)
    submitted, said = hand_in.collect(folder, 1)
    assert (submitted is not None) == (taken is not None)
    assert reason in said
    assert bool(said) == bool(reason)
    if taken is not None:
        assert folder.validation_submission(1).read_text() == taken


def test_old_files_are_not_taken_again(tmp_path: Path) -> None:
    """Files that were there before the cell and were not touched are not handed in."""
    for name in _USUAL:
        (tmp_path / name).write_text("old")
    folder = WorkFolder(tmp_path / "attempt")
    assert HandIn(tmp_path, None).collect(folder, 1) == (None, "")
    named = HandIn(tmp_path, SubmissionNames())
    assert named.collect(folder, 1) == (None, "validation_submission.csv was not written by this cell")
    again = HandIn(tmp_path, None)
    (tmp_path / "validation_submission.csv").write_text("new")
    assert again.collect(folder, 1) == (None, "submission.csv was not written by this cell")
