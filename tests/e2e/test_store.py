"""`comind ingest` through the real command line; test_ingest.py runs a campaign on a store."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from comind.cli.main import main
from tests.unit.community.folders import DAY, comment, community, discussion, notebook
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
    captured = capfd.readouterr()
    sys.stderr.write(captured.err)  # the report of a test that fails has it
    told: dict[str, Any] = json.loads(captured.out)
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


def test_a_listing_is_what_a_campaign_would_read(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The ranked community as of a time is listed, also without a source once it is in the store."""
    lines = [
        notebook(public_score=0.5, votes=9, vote_times=[DAY.format(2)] * 9),
        notebook("bob/two", 3, public_score=0.7),
        notebook("eve/later", 20),
        notebook("titanic/taken"),
    ]
    folder = community(
        tmp_path / "c", notebooks=lines, discussions=[discussion(comments=[comment("a")])]
    )
    words = ("ingest", "titanic", "--as-of", DAY.format(9), "--list", "--out", tmp_path / "out")
    listed = _told(capfd, *words, "--folder", folder)["listed"]
    assert [(each["ref"], each["votes"], each["public_score"]) for each in listed["notebooks"]] == [
        ("bob/two", 0, 0.7),
        ("ada/one", 9, 0.5),
    ]
    assert [(each["id"], each["comments"]) for each in listed["discussions"]] == [("1", 1)]
    assert listed["left_out"] == [
        "the metric is not known here, so a higher public score counts as the better one",
        "titanic/taken: its owner's name is taken below input/",
    ]
    again = _told(capfd, *words)
    assert (again["imports"], again["listed"]) == ([], listed)
    assert main([str(word) for word in words]) == 0
    assert (
        "notebook   1    bob/two: Bob/Two (version 1, 0.7, 0 votes, 2023-03-03)"
        in capfd.readouterr().out
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--list", "--code", "{tmp}"), "--list: which competition is it about?"),
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
    assert (told["code"], told["error"]["message"]) == (2, message.format(tmp=tmp_path))


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
