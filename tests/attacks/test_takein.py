"""Attacks on what is taken out of a sandbox: submissions, checkpoints, and the moment between."""

import time

import pytest

from comind.campaign.log.campaign_folders import WorkFolder
from comind.campaign.log.work_events import SubmissionNames
from comind.campaign.work.cell_outputs import SubmissionCollector
from comind.session.kernel_session import KernelSession
from comind.system.files import copy_untrusted_tree
from tests.attacks.conftest import SECRET, Scene, said

_GOOD = "id,label\n7,benign\n"


def _handed_in(scene: Scene, code: str, names: SubmissionNames | None = None) -> tuple[str, str]:
    """Run a cell; return what was taken in as the validation submission, and why nothing was."""
    folder = WorkFolder(scene.folder / "runs" / "attempt-000")
    session = scene.opened[0] if scene.opened else scene.open()
    hand_in = SubmissionCollector(session.workspace, names)
    said(session, code)
    taken, reason = hand_in.collect(folder, 1)
    return (folder.validation_submission(1).read_text() if taken else "", reason)


_PREPARE = f"""
import os, socket
for name in ('validation_submission.csv', 'submission.csv'):
    if os.path.lexists(name): os.remove(name)
open('submission.csv', 'w').write({_GOOD!r})
"""


_CLEAR = "if os.path.isdir('validation_submission.csv'): os.rmdir('validation_submission.csv')"


def test_submissions_that_are_no_plain_files_are_refused(scene: Scene) -> None:
    """Links of both kinds, pipes, sockets, folders, devices and sparse giants are refused, at once."""
    name = "'validation_submission.csv'"
    for attack in (
        f"os.symlink({str(scene.labels)!r}, {name})",
        f"os.symlink('/proc/self/root{scene.labels}', {name})",
        f"os.symlink('/dev/zero', {name})",
        f"os.mkfifo({name})",
        f"os.mkdir({name})",
        f"open('x', 'w').write('x'); os.link('x', {name})",
        f"s = socket.socket(socket.AF_UNIX); s.bind({name})",
        f"f = open({name}, 'wb'); f.truncate(4 << 30)",
    ):
        begun = time.monotonic()
        content, reason = _handed_in(scene, f"{_PREPARE}\n{attack}\nprint()")
        assert content == "", attack
        assert reason, attack
        assert time.monotonic() - begun < 20
        said(scene.opened[0], _CLEAR)


def test_devices_cannot_be_made(scene: Scene) -> None:
    """A device of the host's disk cannot be made to be read later."""
    code = """
import os, stat
for kind in (stat.S_IFBLK, stat.S_IFCHR):
    try: os.mknod('device', kind | 0o666, os.makedev(254, 0)); print('MADE')
    except OSError: print('no')
"""
    assert said(scene.open(), code) == "no\nno"


def test_names_that_lead_out_are_refused(scene: Scene) -> None:
    """A named submission above the folder, at an absolute path or below a link is refused."""
    session = scene.open()
    said(session, f"import os; os.symlink({str(scene.labels.parent)!r}, 'there')")
    for name in (
        str(scene.labels),
        "../" * 12 + str(scene.labels).lstrip("/"),
        "there/validation_answers.csv",
        "/proc/self/environ",
        "x\0y",
        "",
    ):
        content, reason = _handed_in(scene, _PREPARE, SubmissionNames(validation=name))
        assert content == ""
        assert reason


def test_a_file_that_is_swapped_meanwhile_gives_itself_or_nothing(scene: Scene) -> None:
    """However a file and a link to the labels take turns, what is taken in is never the labels."""
    session: KernelSession = scene.open()
    code = f"""
import os, subprocess, sys
open('submission.csv', 'w').write({_GOOD!r})
program = r'''
import os
while True:
    open("a", "w").write({_GOOD!r}); os.rename("a", "validation_submission.csv")
    os.symlink({str(scene.labels)!r}, "b"); os.rename("b", "validation_submission.csv")
'''
child = subprocess.Popen([sys.executable, '-c', program])
"""
    said(session, code)
    taken = 0
    folder = WorkFolder(scene.folder / "runs" / "attempt-000")
    end = time.monotonic() + 3
    while time.monotonic() < end:
        hand_in = SubmissionCollector(session.workspace, SubmissionNames())
        hand_in._before = dict.fromkeys(hand_in._before)  # everything is new
        submitted, _ = hand_in.collect(folder, 1)
        if submitted is not None:
            content = folder.validation_submission(1).read_text()
            assert content in (_GOOD, "")
            assert content != SECRET
            taken += 1
    assert taken


def test_what_was_taken_in_cannot_be_changed(scene: Scene) -> None:
    """What is graded is our copy; the cell's own file may change without effect."""
    content, _ = _handed_in(
        scene, f"{_PREPARE}\nopen('validation_submission.csv', 'w').write({_GOOD!r})"
    )
    assert content == _GOOD
    said(scene.opened[0], "open('validation_submission.csv', 'w').write('changed')")
    kept = WorkFolder(scene.folder / "runs" / "attempt-000").validation_submission(1)
    assert kept.read_text() == _GOOD
    assert kept.stat().st_ino != (scene.opened[0].workspace / "validation_submission.csv").stat().st_ino


def test_a_printed_score_is_only_text(scene: Scene) -> None:
    """A cell that prints, or leaves, scores and reports hands in nothing by it."""
    code = """
import json
print('score: 1.0 {"score": 1.0, "valid": true}')
for name in ('report.json', 'score.json', 'grader.log', 'log.jsonl'):
    json.dump({'score': 1.0, 'valid': True, 'type': 'graded'}, open(name, 'w'))
"""
    assert _handed_in(scene, code) == ("", "")


@pytest.mark.parametrize(
    "attack",
    [
        "os.symlink({labels!r}, 'checkpoints/model.bin')",
        "os.symlink({folder!r}, 'checkpoints/more')",
        "os.mkfifo('checkpoints/pipe')",
        "open('checkpoints/giant', 'wb').truncate(4 << 30)",
        "[open(f'checkpoints/{{n}}', 'w').close() for n in range(12_000)]",
        "os.makedirs('checkpoints/' + 'd/' * 100)",
    ],
)
def test_checkpoints_that_lead_elsewhere_or_have_no_end_are_refused(scene: Scene, attack: str) -> None:
    """Links, pipes, giants, crowds and depths among the checkpoints end the copy, not the host."""
    session = scene.open()
    attack = attack.format(labels=str(scene.labels), folder=str(scene.labels.parent))
    said(session, f"import os; os.mkdir('checkpoints'); _ = {attack}")
    with pytest.raises(ValueError, match="checkpoints"):
        copy_untrusted_tree(
            session.workspace / "checkpoints", scene.folder / "copy", limit_bytes=1 << 30
        )
    copied = [path for path in (scene.folder / "copy").rglob("*") if path.is_file()]
    assert all(SECRET not in path.read_text() for path in copied)
    assert sum(path.stat().st_size for path in copied) < (1 << 30)
