"""`comind ui` serves the pages of a project, and takes them along when it ends."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx

from comind.servers.tool_servers import free_port
from tests.e2e.command import processes_of
from tests.services_table import check_service


def _check_mlflow(address: str, password: str) -> None:
    """Only requests with the password, of its own page and by its own name, reach MLflow."""
    check_service("MLflow", f"{address}/")
    search = f"{address}/ajax-api/2.0/mlflow/experiments/search"
    for headers, auth, status in (
        ({}, None, 401),
        ({}, ("me", "guessed"), 401),
        ({"Host": "10.evil.example"}, ("me", password), 400),
        ({"Origin": "http://evil.example"}, ("me", password), 403),
        ({"Origin": address}, ("me", password), 200),
    ):
        found = httpx.post(search, headers=headers, json={"max_results": 1}, auth=auth, timeout=30)
        assert found.status_code == status, headers


def test_all_pages_are_served(tmp_path: Path) -> None:
    """All addresses are printed and answer; an interrupt ends the command and all servers."""
    ports = [str(free_port()) for _ in range(3)]
    command = [sys.executable, "-m", "comind.cli", "ui", "--out", str(tmp_path)]
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
        [file] = re.findall(r"PREFECT_API_AUTH_STRING in (.*)", "".join(said))
        [string] = re.findall(r"PREFECT_API_AUTH_STRING=(.*)", Path(file).read_text())
        for address in addresses:
            page = httpx.get(address, headers={"Accept": "text/html"}, auth=("me", string), timeout=30)
            assert "<html" in page.text.lower()
        _check_mlflow(f"http://127.0.0.1:{ports[0]}", string)
        assert string not in "".join(said)
    finally:
        ui.send_signal(signal.SIGINT)
        ui.wait(timeout=30)
        ui.stderr.close()
    for _ in range(100):
        if not processes_of(tmp_path):
            break
        time.sleep(0.1)
    assert processes_of(tmp_path) == []
