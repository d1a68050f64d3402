"""What a terminal gets from a whole command."""

import subprocess
import sys
from pathlib import Path

from tests.doubles.terminal import pseudo_terminal


def test_nothing_is_written_after_the_result(tmp_path: Path) -> None:
    """The first line names what begins; the last is the result, without codes of libraries at exit."""
    command = [sys.executable, "-m", "comind.cli", "gc", "--dry-run", "--out", tmp_path]
    with pseudo_terminal() as terminal:
        output = {"stdout": terminal.follower, "stderr": terminal.follower}
        ended = subprocess.run(command, **output, check=False, timeout=200)
        whole = terminal.output()
    assert ended.returncode == 0
    assert whole.startswith("comind gc: starting  00:00")
    assert whole.endswith("\n0 files would be dropped; 0 campaigns kept\r\n")
