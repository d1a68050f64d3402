"""A competition's name at the command line that may be Kaggle's."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
import yaml

from comind.app.open_days import OpenDay, day_opened
from comind.app.params import read_params
from comind.app.paths import find_competition, find_or_fetch_competition
from comind.competitions.competition_folder import load_competition
from comind.demos.make import make_demo
from comind.errors import CompetitionError, KaggleAccountError, KaggleBusyError, KaggleUnknownError
from comind.live.hosted import HostedCompetition
from comind.live.server import LiveServer
from comind.live.world import MLELive
from comind.system.timing import ServerClock
from comind.wiring.competition_data import open_kaggle
from tasks.competitions import fetch_from_kaggle

if TYPE_CHECKING:
    from comind.following.day import Day

SLUG = "small-diabetes"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    demo = make_demo("demo-diabetes", tmp_path / "demos")
    described = demo / "competition.yaml"
    described.write_text(described.read_text().replace("id: demo-diabetes", f"id: {SLUG}"))
    hosted = HostedCompetition(MLELive(load_competition(demo)), tmp_path / "archives")
    with LiveServer([hosted], users={"ann": "key"}) as running:
        yield running


@pytest.fixture
def project(server: LiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KAGGLE_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("KAGGLE_USERNAME", "ann")
    monkeypatch.setenv("KAGGLE_KEY", "key")
    monkeypatch.delenv("KAGGLE_API_TOKEN", raising=False)
    project = tmp_path / "project"
    project.mkdir()
    quick = {"pause_seconds": 0, "tries": 1}
    settings = {"kaggle": {"endpoint": server.url, "rate_limit": quick}}
    (project / "params.yaml").write_text(yaml.safe_dump(settings))
    return project


@pytest.mark.parametrize("name", [SLUG, f"https://www.kaggle.com/competitions/{SLUG}/data"])
def test_a_name_of_kaggles_is_fetched(
    name: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name or an address is fetched to data/kaggle, with its community, and told about on stderr."""
    folder = find_or_fetch_competition(name, project)
    assert folder == project / "data" / "kaggle" / SLUG
    assert load_competition(folder).id == SLUG
    printed = capsys.readouterr()
    assert printed.out == ""
    assert re.search(r"kaggle: new: 3 notebooks, 2 discussions, .* files of \d", printed.err)


def test_graded_without_kaggle(project: Path, server: LiveServer) -> None:
    """What was fetched is found by its name, and nobody is asked for it."""
    with pytest.raises(CompetitionError, match="no such folder"):
        find_competition(SLUG, project)
    folder = find_or_fetch_competition(SLUG, project)
    server.faults.expire()
    assert find_competition(SLUG, project) == folder


def test_what_was_fetched_is_solved_while_kaggle_is_away(
    project: Path, server: LiveServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where Kaggle is down or the credentials have expired, the folder of before is used."""
    folder = find_or_fetch_competition(SLUG, project)
    server.faults.expire()
    assert find_or_fetch_competition(SLUG, project) == folder
    assert "does not accept the credentials; what was fetched before is used" in capsys.readouterr().err
    server.faults.expire(expired=False)
    server.faults.fail(1)
    assert find_or_fetch_competition(SLUG, project) == folder


def test_nothing_fetched_and_kaggle_away(project: Path, server: LiveServer) -> None:
    """Then it is the service that is missing."""
    server.faults.fail(1)
    with pytest.raises(KaggleBusyError) as caught:
        find_or_fetch_competition(SLUG, project)
    assert caught.value.exit_code == 4


def test_an_unknown_name(project: Path) -> None:
    """It is bad usage: neither here nor there, and the demos are named."""
    with pytest.raises(KaggleUnknownError, match=r"no such competition.*no such folder") as caught:
        find_or_fetch_competition("no-such-thing", project)
    assert caught.value.exit_code == 2
    assert "demo-tumours" in caught.value.hint


def test_no_credentials(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says that there is no such folder, and what Kaggle needs."""
    monkeypatch.delenv("KAGGLE_USERNAME")
    monkeypatch.delenv("KAGGLE_KEY")
    with pytest.raises(KaggleAccountError, match=r"no such folder.*no credentials") as caught:
        find_or_fetch_competition("titanic", project)
    assert caught.value.exit_code == 4
    assert "demo-tumours" in caught.value.hint
    assert "KAGGLE_API_TOKEN" in caught.value.hint
    assert find_or_fetch_competition("demo-tumours", project).name == "demo-tumours"


def test_the_task_does_the_same(project: Path) -> None:
    """Flows that keep folders up to date fetch to the same place."""
    settings, time = read_params(project).kaggle, ServerClock()
    kaggle, no_day = open_kaggle(settings, time), cast("Day", None)
    with day_opened(project, SLUG, OpenDay(no_day, kaggle, settings.wanted, time)):
        fetched = fetch_from_kaggle.fn(project, SLUG)
    assert fetched.folder == project / "data" / "kaggle" / SLUG
