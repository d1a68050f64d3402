"""The community of a campaign, through the real command line."""

import json
import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.loop import read_state
from comind.cli.main import main
from comind.community.snapshot import SnapshotFolder
from comind.community.store.folder_import import ingest_folder
from tests.e2e.command import MODEL, comind
from tests.e2e.prefect_graph import filtered
from tests.unit.community.folders import community, notebook

_SOLVE = ("solve", "demo-tumours", "--model", "offline", "--iterations", "1", "--no-refit")
_SIGKILLED = -9
_READS = ("solve", "demo-tumours", "--model", MODEL, "--iterations", "0", "--no-refit")


def _state(project: Path, answer: dict[str, Any]) -> CampaignState:
    return read_state(ProjectFolder(project).campaign(answer["campaign"]))


def _begun(project: Path, *arguments: str) -> CampaignState:
    """Return the state of a campaign that is killed when its first work is planned."""
    ran = comind(*arguments, "--out", project, COMIND_KILL_AT="work-planned")
    assert ran.exit_code == _SIGKILLED, ran.stderr
    [campaign] = ProjectFolder(project).campaigns()
    return read_state(ProjectFolder(project).campaign(campaign))


def test_the_competitions_own_community_is_read(tmp_path: Path, shared_server: str) -> None:
    """Without a word about it, the community of the competition's folder is kept and versioned."""
    ran = comind(*_READS, "--as-of", "2023-04-01T00:00:00+02:00", "--out", tmp_path, "--json")
    assert ran.exit_code == 0, ran.stderr
    read = _state(tmp_path, ran.json).community
    assert read is not None
    assert (read.notebooks, read.discussions, read.datasets) == (2, 1, 1)
    assert read.as_of == datetime(2023, 3, 31, 22, tzinfo=UTC)
    pointer = f"data/community/{read.key}.dvc"
    listed = subprocess.run(
        ["git", "-C", tmp_path, "ls-tree", "-r", "--name-only", ran.json["dvc_rev"]],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert pointer in listed.split()
    view = SnapshotFolder(ProjectFolder(tmp_path).communities / read.key).read()
    assert view.notebooks[0].ref == "m-okafor/which-measurements-matter"
    assert f"community {read.key} as of 2023-03-31 22:00 UTC: 2 notebooks" in ran.stderr


def test_an_import_is_a_run_of_the_server_that_is_there(tmp_path: Path, shared_server: str) -> None:
    """With a server it is a flow run on its page, without one a plain call; both import the same."""
    folder = community(tmp_path / "c", notebooks=[notebook()])
    words = ("ingest", "titanic", "--folder", folder, "--json", "--out")
    shown = comind(*words, tmp_path / "shown")
    plain = comind(*words, tmp_path / "plain", PREFECT_API_URL="")
    assert (shown.exit_code, plain.exit_code) == (0, 0), shown.stderr + plain.stderr
    assert shown.json["imports"][0]["taken"] == plain.json["imports"][0]["taken"]
    names = [f"ingest into {ran.json['store']}" for ran in (shown, plain)]
    runs = filtered(shared_server, "flow_runs", {"flow_runs": {"name": {"any_": names}}})
    assert [(each["name"], each["state_type"]) for each in runs] == [(names[0], "COMPLETED")]


def test_a_campaign_without_a_community(tmp_path: Path, shared_server: str) -> None:
    """With `--community none` nothing is read and nothing is kept."""
    assert _begun(tmp_path, *_READS, "--community", "none").community is None
    assert not ProjectFolder(tmp_path).communities.exists()


@pytest.fixture
def restored() -> Iterator[None]:
    """The command sets switches of telemetry; no test keeps them."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--community", "{tmp}/gone"), "{tmp}/gone: there is no such folder"),
        (("--community", "{tmp}"), "{tmp}: is no community folder"),
        (("--community", "{tmp}/broken"), "{tmp}/broken/notebooks.jsonl: is no JSON lines"),
        (("--as-of", "2023-04-01"), "--as-of 2023-04-01: has no zone, such as Z or +01:00"),
        (("--as-of", "soon"), "--as-of soon: is no ISO 8601 time"),
    ],
)
def test_a_community_that_cannot_be_read(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    restored: None,
    arguments: tuple[str, str],
    message: str,
) -> None:
    """A wrong folder or time ends the command in one line, before a campaign is opened."""
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "notebooks.jsonl").write_bytes(b"\x1f\x8b" * 99)
    out = tmp_path / "out"
    given = [each.format(tmp=tmp_path) for each in arguments]
    assert main([*_SOLVE, *given, "--out", str(out), "--json"]) == 2
    assert json.loads(capfd.readouterr().out)["error"]["message"] == message.format(tmp=tmp_path)
    assert not (out / "runs").exists()


def test_the_time_may_stand_in_the_parameters(tmp_path: Path, shared_server: str) -> None:
    """params.yaml may name a store and a time, the time also without quotation marks."""
    folder = community(tmp_path / "mine", notebooks=[notebook(), notebook("b/later", 9)])
    store = tmp_path / "store"
    ingest_folder(store, folder, "demo-tumours")
    out = tmp_path / "out"
    out.mkdir()
    values = f"solve:\n  community: {store}\n  as_of: 2023-03-05T00:00:00Z\n  notebooks: 1\n"
    (out / "params.yaml").write_text(values)
    read = _begun(out, *_SOLVE).community
    assert read is not None
    assert (read.notebooks, read.discussions) == (1, 0)
