"""Whether a process is gone can be told from its name, also when its id was given away again."""

import subprocess
import sys

from comind.system.owner import is_gone, this_process


def test_a_process_is_there_until_it_ends() -> None:
    """We are not gone; a process that ended is."""
    assert not is_gone(this_process())
    code = "from comind.system.owner import this_process; print(this_process())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert is_gone(done.stdout.strip())


def test_an_id_that_was_given_away_again_does_not_count() -> None:
    """A process of an earlier start of the machine, or with our id, is gone."""
    boot, view, pid, started = this_process().split("/")
    assert is_gone("/".join((boot, view, pid, str(int(started) - 1))))
    assert is_gone(f"another-boot/{view}/{pid}/{started}")


def test_what_cannot_be_told_is_not_gone() -> None:
    """A process that we cannot see, in another set of processes, may be there; nonsense is nobody's."""
    boot, _, pid, started = this_process().split("/")
    assert not is_gone("/".join((boot, "pid:[1]", pid, started + "0")))
    assert not is_gone("")
    assert not is_gone("a/b/c/d")
