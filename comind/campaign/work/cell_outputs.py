"""Collect the files that a cell wrote: its submissions, and a listing of all others.

Further files of the same cell belong to the pair:

    out_of_fold.csv     predictions for rows of train.csv, in the format of a submission
    *_probabilities.csv the probabilities beside labels, for validation, test and rows of train.csv
    nominated.txt       nominates the pair as the attempt's pick, whatever it contains

A cell without a pair that uses rows of the sample may hand in `sample_predictions.csv`, as a step on it.
"""

import hashlib
from contextlib import suppress
from pathlib import Path

from comind.campaign.log.campaign_folders import WorkFolder
from comind.campaign.log.outcome import PROBABILITIES, HandedIn, SamplePredictions, Submitted
from comind.campaign.log.work_events import SubmissionNames, WrittenFile
from comind.domain.problem import SAMPLE_AT
from comind.errors import SubmissionError
from comind.session.workspace import walk_files
from comind.system.files import read_untrusted, write_atomically

SUBMISSION_BYTES = 512 << 20

_OUT_OF_FOLD = {"out_of_fold.csv": "out_of_fold_sha256"}
_NOMINATION = "nominated.txt"
_ON_SAMPLE = "sample_predictions.csv"
_NOT_BOTH = f"{_ON_SAMPLE} was not scored, as this cell handed in a pair of submissions"
_NOT_USED = f"{_ON_SAMPLE}: the code of this cell uses no rows of {SAMPLE_AT}/"


class SubmissionCollector:
    """Detects by file status which submissions a cell wrote, so that old files are not graded again.

    Looks for the names that the model gave, then for the default ones.
    """

    note = ""

    def __init__(
        self,
        workspace: Path,
        named: SubmissionNames | None,
        *,
        sample: bool = False,
        uses_sample: bool = False,
        probabilities: bool = False,
    ) -> None:
        """Record the status of the files before the cell runs.

        With `sample` there are steps on one, with `uses_sample` this may be one; with `probabilities`
        these count, too.
        """
        self._workspace, self._sample, self._uses_sample = workspace, sample, uses_sample
        self._named = named
        self._beside = _OUT_OF_FOLD | (PROBABILITIES if probabilities else {})
        self._pairs = [named, SubmissionNames()] if named else [SubmissionNames()]
        self._before = self._marks()

    def collect(self, folder: WorkFolder, step: int) -> tuple[HandedIn | None, str]:
        """Copy the files that the cell wrote to `folder`; return the pair, and why a file was rejected.

        The reason is empty if the cell wrote neither file and named none. With a pair, the reason is
        about the files beside it, which are optional. Predictions on the sample are returned where the
        cell uses it, gave no other names and wrote no file of a pair.
        """
        after = self._marks()
        fresh = {name for name in after if after[name] != self._before[name]}
        optional = {*self._beside, _NOMINATION, _ON_SAMPLE}
        beside = {name for name in fresh & optional if after[name] is not None}
        on_sample = self._sample and _ON_SAMPLE in beside
        reason = ""
        for pair in self._pairs:
            if pair is not self._named and not fresh & {pair.validation, pair.test}:
                continue
            try:
                submitted = self._take(pair, fresh, folder, step)
            except SubmissionError as error:
                reason = reason or str(error)
            else:
                self.note = _NOT_BOTH if on_sample else ""
                return self._with(beside, submitted, folder)
        pairs = {name for pair in self._pairs for name in (pair.validation, pair.test)}
        other_names = self._named not in (None, SubmissionNames())
        if not on_sample or pairs & fresh or other_names:
            return None, reason
        if not self._uses_sample:
            return None, _NOT_USED
        try:
            sha256 = self._copy(_ON_SAMPLE, folder.sample_predictions(step), fresh)
        except SubmissionError as error:
            return None, str(error)
        return SamplePredictions(step=step, sha256=sha256), ""

    def _take(self, pair: SubmissionNames, fresh: set[str], folder: WorkFolder, step: int) -> Submitted:
        validation = self._copy(pair.validation, folder.validation_submission(step), fresh)
        test = self._copy(pair.test, folder.test_submission(step), fresh)
        return Submitted(step=step, validation_sha256=validation, test_sha256=test)

    def _copy(self, name: str, target: Path, fresh: set[str]) -> str:
        """Copy a file that the cell wrote, and return its hash."""
        content = read_untrusted(self._workspace, name, limit=SUBMISSION_BYTES)
        if name not in fresh:
            raise SubmissionError(f"{name} was not written by this cell")
        write_atomically(target, content)
        return hashlib.sha256(content).hexdigest()

    def _with(self, beside: set[str], submitted: Submitted, folder: WorkFolder) -> tuple[Submitted, str]:
        """Add the nomination and the files beside a pair, which is valid without them."""
        found: dict[str, object] = {"nominated": _NOMINATION in beside}
        reasons = []
        for name, field in self._beside.items():
            target = folder.submissions(submitted.step) / name
            target.unlink(missing_ok=True)  # of an interrupted run of this step
            if name in beside:
                try:
                    found[field] = self._copy(name, target, beside)
                except SubmissionError as error:
                    reasons.append(str(error))
        return submitted.model_copy(update=found), "; ".join(reasons)

    def _marks(self) -> dict[str, object]:
        """Return the status of each file that may be submitted; it changes with every write."""
        pairs = (name for pair in self._pairs for name in (pair.validation, pair.test))
        names = dict.fromkeys((*pairs, *self._beside, _NOMINATION, _ON_SAMPLE))
        return {name: file_status(self._workspace / name) for name in names}


def file_status(file: Path) -> object:
    """Return what changes with every write of a file; None where there is none."""
    with suppress(OSError, ValueError):
        facts = file.lstat()
        return facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size
    return None


Marks = dict[str, tuple[int, int, int]]
"""By name: modification time (ns), inode, size (bytes)."""

_MOST_FILES = 2_000  # in a working directory; others are not listed
_DEPTH = 4
_MOST_LISTED = 12
_NAME_LENGTH = 120


def list_files(workspace: Path) -> Marks:
    """Return the status of the files in a working directory, without opening any.

    Excludes links, `input/`, and hidden files and folders.
    """
    marks: Marks = {}
    for name, facts in walk_files(workspace, depth=_DEPTH):
        marks[name] = (facts.st_mtime_ns, facts.st_ino, facts.st_size)
        if len(marks) == _MOST_FILES:
            break
    return marks


def written_since(before: Marks, after: Marks) -> tuple[WrittenFile, ...]:
    """Return the new and changed files, newest last; only the last twelve."""
    changed = sorted((marks, name) for name, marks in after.items() if before.get(name) != marks)
    return tuple(
        WrittenFile(
            name="".join(char if char.isprintable() else "?" for char in name)[:_NAME_LENGTH],
            size=marks[2],
        )
        for marks, name in changed[-_MOST_LISTED:]
    )
