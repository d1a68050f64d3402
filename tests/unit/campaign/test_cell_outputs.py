"""A cell's new pair of submissions is collected, under the given or the default names."""

from pathlib import Path

import pytest

from comind.campaign.log.campaign_folders import WorkFolder
from comind.campaign.log.outcome import Submitted
from comind.campaign.log.work_events import SubmissionNames
from comind.campaign.work.cell_outputs import SubmissionCollector
from comind.errors import CampaignError
from comind.system.files import hash_file

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
    """A new pair is collected unchanged; else there is a reason if a file was written or named."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    folder = WorkFolder(tmp_path / "attempt")
    hand_in = SubmissionCollector(workspace, named)
    for name in written:
        (workspace / name).write_text(name)
    submitted, said = hand_in.collect(folder, 1)
    assert (submitted is not None) == (taken is not None)
    assert reason in said
    assert bool(said) == bool(reason)
    if taken is not None:
        assert folder.validation_submission(1).read_text() == taken


@pytest.mark.parametrize(
    ("named", "taken", "reason"),
    [
        (None, True, ""),
        (SubmissionNames(), True, ""),
        (_OTHER, False, "v.csv: there is no such file in the working directory"),
    ],
    ids=["unnamed", "usual", "others"],
)
def test_named_files_that_are_missing_beside_predictions_on_the_sample_are_reported(
    tmp_path: Path, named: SubmissionNames | None, taken: bool, reason: str
) -> None:
    """The cell was to be a full step, so what it wrote in its place is not collected."""
    hand_in = SubmissionCollector(tmp_path, named, sample=True, uses_sample=True)
    (tmp_path / "sample_predictions.csv").write_text("0.8")
    handed_in, said = hand_in.collect(WorkFolder(tmp_path / "attempt"), 1)
    assert (handed_in is not None, said) == (taken, reason)


def test_old_files_are_not_taken_again(tmp_path: Path) -> None:
    """Files from before the cell that it did not write are not collected."""
    for name in _USUAL:
        (tmp_path / name).write_text("old")
    folder = WorkFolder(tmp_path / "attempt")
    assert SubmissionCollector(tmp_path, None).collect(folder, 1) == (None, "")
    named = SubmissionCollector(tmp_path, SubmissionNames())
    assert named.collect(folder, 1) == (None, "validation_submission.csv was not written by this cell")
    again = SubmissionCollector(tmp_path, None)
    (tmp_path / "validation_submission.csv").write_text("new")
    assert again.collect(folder, 1) == (None, "submission.csv was not written by this cell")


_PROBABILITIES = (
    "validation_probabilities.csv",
    "test_probabilities.csv",
    "out_of_fold_probabilities.csv",
)


def _hand_in_beside(
    root: Path, *files: str, old: tuple[str, ...] = (), probabilities: bool = False
) -> tuple[Submitted, str, WorkFolder]:
    """Return what is collected from a cell that writes a pair and `files`, after `old` files."""
    workspace, folder = root / "workspace", WorkFolder(root / "attempt")
    workspace.mkdir()
    for name in old:
        (workspace / name).write_text("old")
    hand_in = SubmissionCollector(workspace, None, probabilities=probabilities)
    for name in (*_USUAL, *files):
        (workspace / name).write_text(name)
    submitted, said = hand_in.collect(folder, 1)
    assert submitted is not None
    return submitted, said, folder


def test_what_is_written_beside_a_pair_is_taken_in(tmp_path: Path) -> None:
    """Out-of-fold predictions are kept with their hash, and a nomination is recorded."""
    submitted, said, folder = _hand_in_beside(tmp_path, "out_of_fold.csv", "nominated.txt")
    assert (submitted.nominated, said) == (True, "")
    assert folder.out_of_fold(1).read_text() == "out_of_fold.csv"
    assert submitted.out_of_fold_sha256 == hash_file(folder.out_of_fold(1))


def test_old_files_beside_a_pair_do_not_count(tmp_path: Path) -> None:
    """Files or nominations of an earlier cell do not belong to this pair."""
    submitted, said, folder = _hand_in_beside(tmp_path, old=("out_of_fold.csv", "nominated.txt"))
    assert (submitted.nominated, submitted.out_of_fold_sha256, said) == (False, "", "")
    assert not folder.out_of_fold(1).exists()


def test_probabilities_beside_labels_are_taken_in(tmp_path: Path) -> None:
    """Each file is kept beside the pair with its hash; older events have no such fields."""
    submitted, said, folder = _hand_in_beside(tmp_path, *_PROBABILITIES, probabilities=True)
    assert said == ""
    hashes = {path.name: sha256 for path, sha256 in folder.files_of(submitted) if sha256}
    assert hashes == {name: hash_file(tmp_path / "workspace" / name) for name in hashes}
    assert hashes.keys() == {*_USUAL, *_PROBABILITIES}
    folder.verify(submitted)
    assert "probabilities" not in _pair_alone(tmp_path / "other").model_dump_json()


def _pair_alone(root: Path) -> Submitted:
    root.mkdir()
    return _hand_in_beside(root)[0]


@pytest.mark.parametrize("name", _PROBABILITIES)
def test_changed_probabilities_are_detected(name: str, tmp_path: Path) -> None:
    """A file beside the pair that was changed after it was graded is an error."""
    submitted, _, folder = _hand_in_beside(tmp_path, *_PROBABILITIES, probabilities=True)
    (folder.submissions(1) / name).write_text("changed")
    with pytest.raises(CampaignError, match=f"{name} was changed after it was graded"):
        folder.verify(submitted)


def test_probabilities_count_beside_labels_alone(tmp_path: Path) -> None:
    """Where no labels are predicted, and where an earlier cell wrote them, they are not collected."""
    submitted, said, folder = _hand_in_beside(tmp_path, *_PROBABILITIES)
    assert (said, submitted.test_probabilities_sha256) == ("", "")
    assert not (folder.submissions(1) / _PROBABILITIES[1]).exists()
    (tmp_path / "other").mkdir()
    submitted, said, folder = _hand_in_beside(tmp_path / "other", old=_PROBABILITIES, probabilities=True)
    assert (said, submitted.validation_probabilities_sha256) == ("", "")


def test_each_file_that_cannot_be_read_has_its_reason(tmp_path: Path) -> None:
    """The pair and the other files are collected."""
    hand_in = SubmissionCollector(tmp_path, None, probabilities=True)
    for name in (*_USUAL, _PROBABILITIES[1]):
        (tmp_path / name).write_text(name)
    for name in ("out_of_fold.csv", _PROBABILITIES[0]):
        (tmp_path / name).mkdir()
    submitted, said = hand_in.collect(WorkFolder(tmp_path / "attempt"), 1)
    assert submitted is not None
    assert submitted.test_probabilities_sha256
    reasons = said.split("; ")
    assert [reason.partition(":")[0] for reason in reasons] == ["out_of_fold.csv", _PROBABILITIES[0]]


def test_files_that_are_taken_away_do_not_count(tmp_path: Path) -> None:
    """A cell that deletes a nomination nominates nothing."""
    for name in ("out_of_fold.csv", "nominated.txt"):
        (tmp_path / name).write_text("old")
    hand_in = SubmissionCollector(tmp_path, None)
    for name in ("out_of_fold.csv", "nominated.txt"):
        (tmp_path / name).unlink()
    for name in _USUAL:
        (tmp_path / name).write_text(name)
    submitted, said = hand_in.collect(WorkFolder(tmp_path / "attempt"), 1)
    assert submitted is not None
    assert (submitted.nominated, submitted.out_of_fold_sha256, said) == (False, "", "")


def test_a_nomination_can_be_written_again(tmp_path: Path) -> None:
    """Each cell that writes the file nominates its own pair, even with the same content."""
    for step in (1, 2):
        hand_in = SubmissionCollector(tmp_path, None)
        for name in _USUAL:
            (tmp_path / name).write_text(f"{name} {step}")
        (tmp_path / "nominated.txt").open("w").close()
        submitted, _ = hand_in.collect(WorkFolder(tmp_path / "attempt"), step)
        assert submitted is not None
        assert submitted.nominated


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_out_of_fold_predictions_that_cannot_be_read_cost_the_pair_nothing(
    kind: str, tmp_path: Path
) -> None:
    """The pair is collected, and the rejected file beside it has a one-line reason."""
    hand_in = SubmissionCollector(tmp_path, None)
    for name in _USUAL:
        (tmp_path / name).write_text(name)
    path = tmp_path / "out_of_fold.csv"
    if kind == "link":
        path.symlink_to(tmp_path / _USUAL[0])
    else:
        path.mkdir()
    folder = WorkFolder(tmp_path / "attempt")
    submitted, said = hand_in.collect(folder, 1)
    assert submitted is not None
    assert submitted.out_of_fold_sha256 == ""
    assert said.startswith("out_of_fold.csv: not a plain file")
    assert not folder.out_of_fold(1).exists()
