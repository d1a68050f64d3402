"""`comind ingest` through the real command line; test_ingest.py runs a campaign on a store."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.cli.main import main
from tests.unit.community.folders import community, notebook
from tests.unit.community.store.dumps import write_dump


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    """The command sets switches of telemetry; no test keeps them."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


def _told(capfd: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, Any]:
    code = main([*map(str, arguments), "--json"])
    told: dict[str, Any] = json.loads(capfd.readouterr().out)
    return {"code": code} | told


def test_each_import_is_a_version(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What was taken and dropped is told; the same again is the same version, more is another one."""
    dump, out = write_dump(tmp_path / "dump"), tmp_path / "out"
    first = _told(capfd, "ingest", "--meta-kaggle", dump, "--out", out)
    assert first["code"] == 0
    assert first["imports"][0]["taken"]["notebooks"] == 3
    again = _told(capfd, "ingest", "--meta-kaggle", dump, "--out", out)
    assert (again["imports"][0]["known"], again["dvc"]) == (True, first["dvc"])
    folder = community(tmp_path / "c", notebooks=[notebook(), "broken"])
    moment = "2023-03-04T12:00:00Z"
    more = _told(capfd, "ingest", "titanic", "--folder", folder, "--as-of", moment, "--out", out)
    assert more["dvc"] != first["dvc"]
    assert more["imports"][0]["dropped"] == [
        {"what": "notebooks.jsonl, line 2", "reason": "is no JSON object", "count": 1}
    ]
    assert (more["notebooks"], more["discussions"], more["datasets"]) == (2, 1, 0)
    pointer = out / "data" / "knowledge" / "community.dvc"
    assert more["dvc"] in pointer.read_text()
    assert main(["ingest", "titanic", "--folder", str(folder), "--out", str(out)]) == 0
    assert "imported before" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "nothing is named that could be taken"),
        (("--folder", "{tmp}"), "--folder: which competition is it about?"),
        (("titanic", "--folder", "{tmp}"), "{tmp}: is no community folder"),
        (("titanic", "--listing", "{tmp}/gone.json"), "{tmp}/gone.json: is no list of notebooks"),
        (("--meta-kaggle", "{tmp}"), "{tmp}: has no Competitions.csv"),
        (("--meta-kaggle", "{tmp}/gone"), "{tmp}/gone: there is no such folder"),
        (("--code", "{tmp}/gone"), "{tmp}/gone: no such file or directory"),
        (("No Slug!",), "No Slug!: is neither a folder nor Kaggle's name of a competition"),
        (("titanic", "--as-of", "soon"), "as-of time 'soon': is no ISO 8601 time"),
    ],
)
def test_what_cannot_be_taken(
    arguments: tuple[str, ...], message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whatever is wrong is one line and exit code 2."""
    given = [each.format(tmp=tmp_path) for each in arguments]
    told = _told(capfd, "ingest", *given, "--out", tmp_path / "out")
    assert told["code"] == 2
    assert told["error"]["message"] == message.format(tmp=tmp_path)


def test_a_store_that_does_not_know_the_competition(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It is said before a campaign is opened."""
    out = tmp_path / "out"
    store = _told(capfd, "ingest", "demo-tumours", "--out", out)["store"]
    given = ("--community", store, "--model", "offline", "--iterations", "1", "--out", out)
    told = _told(capfd, "solve", "demo-digits", *given)
    assert told["code"] == 2
    assert told["error"]["message"] == f"{store}: contains nothing of the competition 'demo-digits'"
    assert told["error"]["hint"] == "it contains demo-tumours"
    assert not (out / "runs").exists()
