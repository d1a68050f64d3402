"""A log that was cut since it was committed is recognised, and restored from the campaign's ref."""

import argparse
from pathlib import Path

import pytest

from comind.adapters.git.refs import campaign_ref, commit_files, init_repository
from comind.app.campaign_opening import resume_campaign
from comind.app.checking import restore_missing
from comind.app.cut_logs import check_logs_whole, cut_logs
from comind.app.repair import repair
from comind.campaign.log.campaign_events import CampaignEnded
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.loop import Campaign
from comind.cli import arguments, show
from comind.errors import LogError
from comind.system.progress import reported_to
from tests.unit.campaign.samples import opened


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The committed log of an ended campaign."""
    init_repository(tmp_path)
    folder = ProjectFolder(tmp_path).campaign("c1")
    with Campaign(folder) as campaign:
        campaign.record(opened(id="c1", agent="baseline", sandbox="process"))
        campaign.record(CampaignEnded(reason="done"))
    commit_files(tmp_path, campaign_ref("c1"), [folder.log], "c1: done")
    return folder.log


def test_a_truncated_log_is_neither_resumed_nor_shown_until_repaired(log: Path, tmp_path: Path) -> None:
    """Cut anywhere, between lines or in one, it is neither resumed nor shown, and repair restores it."""
    parser = argparse.ArgumentParser()
    arguments.show(parser)
    shown = parser.parse_args(["c1", "--out", str(tmp_path)])
    whole = log.read_bytes()
    first = whole.index(b"\n") + 1
    for size, lines in ((first, 1), (first + 9, 1), (len(whole) - 1, 1), (9, 2), (0, 2)):
        log.write_bytes(whole[:size])
        number = f"{lines} line{'s' * (lines > 1)}"
        with pytest.raises(LogError, match=f"lacks the last {number} that refs/comind/c1 has") as caught:
            resume_campaign(tmp_path, "c1", print)
        assert caught.value.hint == "comind repair c1 restores them"
        with pytest.raises(LogError, match=number):
            show.run(shown)
        assert restore_missing(tmp_path, "c1") == ["runs/c1/log.jsonl"]
        assert log.read_bytes() == whole


def test_a_log_that_went_on_is_whole(log: Path, tmp_path: Path) -> None:
    """Lines after those of the ref, also a torn one, and another beginning are no cut."""
    for text in (log.read_bytes(), log.read_bytes() + b'{"next": 1}\n{"to', b"{}\n" * 9):
        log.write_bytes(text)
        check_logs_whole(tmp_path, "c1")
        assert not cut_logs(tmp_path, "c1")


def test_repair_reports_each_campaign_and_what_is_done(log: Path, tmp_path: Path) -> None:
    """Steps name the campaign with its number, the checks, and the runs that are rebuilt."""
    heard: list[str] = []
    with reported_to(lambda what, done, _: heard.append(what) if done == 0 else None):
        repaired = repair(tmp_path, None, from_scratch=False)
    assert repaired["campaigns"] == [log.parent.name]
    assert heard[:3] == [
        "comind repair: c1, 1 of 1",
        "comind repair: checking logs, ref and data of c1",
        "comind repair: rebuilding MLflow's runs of c1",
    ]
