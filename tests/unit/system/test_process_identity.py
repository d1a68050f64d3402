"""A process identity tells whether its process has exited, even if the id was reused."""

import subprocess
import sys

from comind.system.process_identity import has_exited, process_identity


def test_a_process_is_there_until_it_ends() -> None:
    """Our process has not exited; a process that ended has."""
    assert not has_exited(process_identity())
    code = "from comind.system.process_identity import process_identity; print(process_identity())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert has_exited(done.stdout.strip())


def test_an_id_that_was_given_away_again_does_not_count() -> None:
    """A process of an earlier boot, or one that had our id before, has exited."""
    boot, view, pid, started = process_identity().split("/")
    assert has_exited("/".join((boot, view, pid, str(int(started) - 1))))
    assert has_exited(f"another-boot/{view}/{pid}/{started}")


def test_what_cannot_be_told_is_not_gone() -> None:
    """A process in another pid namespace, or an invalid identity, is not reported as exited."""
    boot, _, pid, started = process_identity().split("/")
    assert not has_exited("/".join((boot, "pid:[1]", pid, started + "0")))
    assert not has_exited("")
    assert not has_exited("a/b/c/d")
