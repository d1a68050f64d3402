"""A full disk ends a command within seconds, in one line; with space, the campaign goes on."""

import threading
import time
from pathlib import Path

import pytest

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.loop import read_state
from tests.doubles.small_disk import small_disk
from tests.e2e.command import MODEL, Ran, comind

_SOLVE = ("solve", "demo-tumours", "--model", MODEL, "--baseline", "none", "--iterations", "1")


@pytest.mark.timeout(900)  # three processes, one after another
def test_a_campaign_meets_a_full_disk(tmp_path: Path, shared_server: str) -> None:
    """It ends with exit code 4, is not resumed while the disk is full, and then goes on to its end."""
    with small_disk(tmp_path / "disk", 2 << 30) as disk:
        project = disk.folder / "project"
        project.mkdir()
        ran: list[Ran] = []
        solving = threading.Thread(target=lambda: ran.append(comind(*_SOLVE, "--out", project)))
        solving.start()
        while solving.is_alive() and not list(project.glob("runs/*/attempt-*/log.jsonl")):
            time.sleep(0.05)
        disk.fill()
        solving.join()
        [met] = ran
        campaign = next((project / "runs").iterdir()).name
        assert met.exit_code == 4, met.stderr
        assert len(met.error_lines) == 1
        assert str(project) in met.error_lines[0]
        full = ("no space left on its disk for", "MiB of its disk are free, and code is run with")
        assert any(each in met.error_lines[0] for each in full), "a write, or the start of a cell"
        assert f"resume with: comind solve --resume {campaign} --out {project}" in met.stderr
        resume = ("solve", "--resume", campaign, "--out", project)
        refused = comind(*resume)
        assert refused.exit_code == 4, refused.stderr
        assert "MiB of its disk are free, and a campaign is run with" in refused.error_lines[0]
        assert "free disk space" in refused.stderr
        disk.resize(2 << 30)
        ended = comind(*resume)
        assert ended.exit_code == 0, ended.stderr
        state = read_state(ProjectFolder(project).campaign(campaign))
        assert all(each.outcome.failure is None for each in state.works.attempts())
