"""A competition of Kaggle's at the real command line."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from comind.competitions.competition_folder import load_competition
from comind.demos.make import make_demo
from comind.live.fault_injection import EntryConditions
from comind.live.hosted import HostedCompetition
from comind.live.server import LiveServer
from comind.live.world import MLELive
from tests.e2e.command import comind

SLUG = "small-tumours"
KEY = "k3y-that-nobody-may-see"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    demo = make_demo("demo-tumours", tmp_path / "demos")
    described = demo / "competition.yaml"
    described.write_text(described.read_text().replace("id: demo-tumours", f"id: {SLUG}"))
    hosted = HostedCompetition(MLELive(load_competition(demo)), tmp_path / "archives")
    with LiveServer([hosted], users={"ann": KEY}) as running:
        yield running


@pytest.fixture
def project(server: LiveServer, tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    settings = {"kaggle": {"endpoint": server.url, "rate_limit": {"pause_seconds": 0}}}
    (project / "params.yaml").write_text(yaml.safe_dump(settings))
    return project


def credentials(home: Path, key: str = KEY) -> dict[str, str]:
    return {
        "HOME": str(home),
        "KAGGLE_CONFIG_DIR": str(home / "kaggle"),
        "KAGGLE_USERNAME": "ann",
        "KAGGLE_KEY": key,
        "VERBOSE": "true",
    }


def test_rules_that_nobody_accepted(server: LiveServer, project: Path, tmp_path: Path) -> None:
    """The command ends with exit code 4 and the address where they are accepted."""
    server.faults.set_conditions(SLUG, EntryConditions(rules_accepted=False))
    ran = comind("solve", SLUG, "--json", cwd=project, **credentials(tmp_path))
    assert ran.exit_code == 4
    assert ran.json["error"]["kind"] == "kaggle"
    assert f"/competitions/{SLUG}/rules" in ran.json["error"]["hint"]
    assert KEY not in ran.stdout + ran.stderr
    assert len(ran.error_lines) == 1


def test_an_unknown_name(project: Path, tmp_path: Path) -> None:
    """What neither we nor Kaggle know is bad usage."""
    ran = comind("solve", "no-such-thing", "--json", cwd=project, **credentials(tmp_path))
    assert ran.exit_code == 2
    assert "Kaggle has no such competition" in ran.json["error"]["message"]


def test_doctor_says_who_we_are(project: Path, tmp_path: Path) -> None:
    """With credentials it tells the account and no key, with wrong ones how to mend them."""
    ran = comind("doctor", "--json", cwd=project, **credentials(tmp_path))
    told = {check["name"]: check for check in ran.json["checks"]}["kaggle"]
    assert told["ok"]
    assert told["found"].endswith("answers ann")
    assert KEY not in ran.stdout + ran.stderr
    ran = comind("doctor", "--json", cwd=project, **credentials(tmp_path, "wr0ng-key"))
    told = {check["name"]: check for check in ran.json["checks"]}["kaggle"]
    assert not told["ok"]
    assert "KAGGLE_API_TOKEN" in told["mend"]
    assert "wr0ng-key" not in ran.stdout + ran.stderr


def test_its_community_goes_into_a_store(project: Path, tmp_path: Path) -> None:
    """What is new there is fetched and taken; with nothing new, nothing is taken twice."""
    arguments = ("ingest", SLUG, "--kaggle", "--out", project, "--json")
    first = comind(*arguments, **credentials(tmp_path))
    assert first.exit_code == 0, first.stderr
    assert first.json["competition"] == SLUG
    assert first.json["imports"][0]["taken"]["notebooks"] == 3
    second = comind(*arguments, **credentials(tmp_path))
    assert second.json["dvc"] == first.json["dvc"]
    nameless = comind("ingest", "--kaggle", "--out", project, "--json", **credentials(tmp_path))
    assert (nameless.exit_code, nameless.json["error"]["kind"]) == (2, "usage")
