"""`comind ui` serves the pages of a project, and takes them along when it ends."""

import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from flows.services.server import free_port
from tests.e2e.command import processes_of


def test_all_pages_are_served(tmp_path: Path) -> None:
    """All addresses are printed and answer; an interrupt ends the command and all servers."""
    ports = [str(free_port()) for _ in range(3)]
    command = [sys.executable, "-m", "flows.cli", "ui", "--out", str(tmp_path)]
    ui = subprocess.Popen(
        [*command, "--mlflow-port", ports[0], "--prefect-port", ports[1], "--port", ports[2]],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert ui.stderr is not None
    said = []
    try:
        while "Ctrl-C" not in "".join(said[-1:]):
            said.append(ui.stderr.readline())
            assert said[-1], f"it ended: {said}"
        addresses = [line.split()[1].partition("#")[0] for line in said if "http://" in line]
        assert len(addresses) == 3
        for address in addresses:
            asked = urllib.request.Request(address, headers={"Accept": "text/html"})
            with urllib.request.urlopen(asked, timeout=30) as page:
                assert b"<html" in page.read().lower()
    finally:
        ui.send_signal(signal.SIGINT)
        ui.wait(timeout=30)
        ui.stderr.close()
    for _ in range(100):
        if not processes_of(tmp_path):
            break
        time.sleep(0.1)
    assert processes_of(tmp_path) == []
