"""Kill the process at a named point between two durable writes, for tests of crash recovery.

A campaign must resume after `kill -9` at any moment; what differs is between which two writes. Each
point is one call of `failpoint`, which returns at once unless `COMIND_KILL_AT` names the point (`NAME`,
or `NAME:3` for its third call).
"""

import os
import signal
from collections import Counter

KILL_POINTS = (
    "campaign-opened",  # the campaign's first event | the split
    "split-written",  # the split's files | DVC
    "split-versioned",  # DVC | the event that names the split
    "community-read",  # DVC | the event that names the community's snapshot
    "work-planned",  # the plan's event | the start of the work
    "call-sent",  # the event that a model call is in flight | its reply
    "reply-recorded",  # a reply | its cell
    "cell-recorded",  # a cell's result | grading
    "grade-recorded",  # a grade | the next step
    "attempt-ended",  # the attempt's last event | the campaign's event
    "work-finished",  # the campaign's event | DVC
    "checkpoints-versioned",  # DVC | MLflow
    "run-tracked",  # MLflow | git
    "ref-committed",  # git | the next event
    "final-picked",  # the event that names the pick | its refit
    "script-proved",  # the event with the proof of a script | the next script
    "submission-delivered",  # the delivered file | the campaign's last event
)
"""Of every campaign."""

_COMPARING_POINTS = (
    "errors-compared",  # the event with the correlations of errors | the plan that depends on it
)
"""Of a campaign whose agent compares errors."""

CLOSING_POINTS = (
    "folds-planned",  # the event with the attempts to run on folds | the plan of the first run
    "fold-planned",  # the plan of a run on a fold | its start
    "fold-made",  # the fold's files | the session of its run
    "fold-finished",  # the event with the attempts that remain after a fold | the plan of the next run
    "blend-judged",  # the event with the members of the blend | the plan of the blend
)
"""Of a campaign with several scored attempts."""

_FOLLOWING_POINTS = (
    "slice-begun",  # the event that a campaign gets more time | the campaign
    "submission-sending",  # the event that a file is about to be submitted | the request
    "submission-taken",  # the answer | the event that names the submission
)
"""Of a day on which a competition is followed."""

_ARRANGING_POINTS = (
    "file-unpacked",  # a file of an archive | the next one
    "download-unpacked",  # all files of a download | the tables made of them
    "split-staged",  # the split's files, but for its metadata | its own name
    "files-looked-at",  # hashes of a thousand files | those of the next
)
"""Of a download that is arranged."""

_SWITCH = "COMIND_KILL_AT"
_calls: Counter[str] = Counter()


def failpoint(point: str) -> None:
    """Mark that the write named `point` is durable; kill the process if `COMIND_KILL_AT` names it."""
    points = (KILL_POINTS, _COMPARING_POINTS, CLOSING_POINTS, _FOLLOWING_POINTS, _ARRANGING_POINTS)
    assert any(point in each for each in points), point
    wanted = os.environ.get(_SWITCH)
    if wanted is None:
        return
    _calls[point] += 1
    name, _, nth = wanted.partition(":")
    if name == point and _calls[point] == int(nth or 1):
        os.kill(os.getpid(), signal.SIGKILL)
