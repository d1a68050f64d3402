"""What a terminal gets from a whole command."""

import os
import pty
import subprocess
import sys
import threading
from pathlib import Path


def test_nothing_is_written_after_the_result(tmp_path: Path) -> None:
    """The first line names what begins; the last is the result, without codes of libraries at exit."""
    seen, terminal = pty.openpty()
    written: list[bytes] = []

    def read() -> None:
        try:
            while part := os.read(seen, 4096):
                written.append(part)
        except OSError:  # all have closed the terminal
            return

    reader = threading.Thread(target=read)
    reader.start()
    command = [sys.executable, "-m", "comind.cli", "gc", "--dry-run", "--out", tmp_path]
    ended = subprocess.run(command, stdout=terminal, stderr=terminal, check=False, timeout=200)
    os.close(terminal)
    reader.join(timeout=60)
    os.close(seen)
    assert ended.returncode == 0
    whole = b"".join(written).decode()
    assert whole.startswith("comind gc: starting  00:00")
    assert whole.endswith("\n0 files would be dropped; 0 campaigns kept\r\n")
