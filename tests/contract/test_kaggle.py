"""The way to Kaggle through the real client, against MLE-Live's server."""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from comind.community.jsonl import read_community_folder
from comind.competitions.competition_folder import load_competition
from comind.demos.make import make_demo
from comind.errors import (
    KaggleAccountError,
    KaggleBusyError,
    KaggleError,
    KaggleRefusedError,
    KaggleUnknownError,
    UsageError,
)
from comind.kaggle.client import OfficialKaggle, _send
from comind.kaggle.fetch import fetch_competition
from comind.kaggle.port import Kaggle
from comind.kaggle.rate_limit import rate_limited
from comind.kaggle.settings import RateLimit
from comind.live.fault_injection import EntryConditions
from comind.live.hosted import HostedCompetition
from comind.live.server import LiveServer
from comind.live.world import MLELive
from comind.splits.checked_plan import check_competition
from tests.doubles.clock import QuickClock
from tests.doubles.endpoint import Endpoint
from tests.doubles.faults import compressed

SLUG = "demo-diabetes"
KEY = "k3y-that-nobody-may-see"


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    return make_demo(SLUG, tmp_path / "demos")


@pytest.fixture
def server(demo: Path, tmp_path: Path) -> Iterator[LiveServer]:
    hosted = HostedCompetition(MLELive(load_competition(demo)), tmp_path / "archives")
    with LiveServer([hosted], users={"ann": KEY}, log=tmp_path / "requests.jsonl") as running:
        yield running


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("KAGGLE_API_TOKEN", "KAGGLE_API_ENVIRONMENT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KAGGLE_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KAGGLE_USERNAME", "ann")
    monkeypatch.setenv("KAGGLE_KEY", KEY)


def polite(server: LiveServer) -> tuple[Kaggle, QuickClock]:
    clock = QuickClock()
    return rate_limited(OfficialKaggle(server.url), RateLimit(), clock=clock), clock


def requests(tmp_path: Path) -> list[tuple[str, int]]:
    lines = (tmp_path / "requests.jsonl").read_text().splitlines()
    return [(line["route"], line["status"]) for line in map(json.loads, lines)]


def test_a_competition_comes_whole(server: LiveServer, demo: Path, tmp_path: Path) -> None:
    """What the server shows becomes a folder that can be solved; what is secret there stays there."""
    kaggle, clock = polite(server)
    fetched = fetch_competition(kaggle, SLUG, tmp_path / "kaggle", clock=clock)
    competition = load_competition(fetched.folder)
    check_competition(competition)
    assert competition.metric == "rmse"
    for name in ("train.csv", "test.csv", "sample_submission.csv"):
        assert (competition.public / name).read_bytes() == (demo / "public" / name).read_bytes()
    assert not competition.answers.exists()
    assert (fetched.community.notebooks, fetched.community.discussions) == (3, 2)
    written = b"".join(path.read_bytes() for path in fetched.folder.rglob("*") if path.is_file())
    assert KEY.encode() not in written


def test_a_second_time_no_file_comes(server: LiveServer, tmp_path: Path) -> None:
    """Only lists are asked for."""
    kaggle, clock = polite(server)
    fetch_competition(kaggle, SLUG, tmp_path / "kaggle", clock=clock)
    before = len(requests(tmp_path))
    fetch_competition(kaggle, SLUG, tmp_path / "kaggle", clock=clock)
    again = [route.rsplit("/", 1)[-1] for route, _ in requests(tmp_path)[before:]]
    assert not {"files", "DownloadDataFile", "GetKernel", "GetTopic"} & set(again)
    assert "ListDataFiles" in again


def test_files_of_datasets_and_submissions_of_notebooks_come_with_them(
    demo: Path, tmp_path: Path
) -> None:
    """So do references of models; a file that was fetched is as it is served, deep ones included."""
    community = demo / "community"
    used = {"datasets": ["ada/more"], "models": ["google/bert/pyTorch/base/2"], "version": 2}
    lines = (community / "notebooks.jsonl").read_text().splitlines()
    first = json.loads(lines[0]) | used
    (community / "notebooks.jsonl").write_text("\n".join([json.dumps(first), *lines[1:]]))
    given = {"ref": "ada/more", "version": 3, "title": "More", "published_at": "2023-01-01T00:00:00Z"}
    (community / "datasets.jsonl").write_text(json.dumps(given | {"path": "files"}) + "\n")
    written = community / "outputs" / first["ref"] / "2"
    for place in (community / "files" / "deep", written):
        place.mkdir(parents=True)
    (community / "files" / "a.csv").write_text("a\n1\n")
    (community / "files" / "deep" / "b.txt").write_text("b")
    (written / "submission.csv").write_text("id,progression\n1,2\n")
    (written / "model.pkl").write_text("?")
    hosted = HostedCompetition(MLELive(load_competition(demo)), tmp_path / "archives")
    with LiveServer([hosted], users={"ann": KEY}, log=tmp_path / "requests.jsonl") as running:
        kaggle, clock = polite(running)
        fetched = fetch_competition(kaggle, SLUG, tmp_path / "kaggle", clock=clock)
    folder = fetched.folder / "community"
    items = read_community_folder(folder)
    (dataset,) = items.datasets
    assert str(dataset.path) == "datasets/ada/more/3"
    assert (folder / str(dataset.path) / "deep" / "b.txt").read_text() == "b"
    assert [each.models for each in items.notebooks if each.ref == first["ref"]] == [
        ("google/bert/pyTorch/base/2",)
    ]
    (found,) = (path for path in (folder / "outputs").rglob("*") if path.is_file())
    assert found == folder / "outputs" / first["ref"] / "2" / "submission.csv"
    assert found.read_bytes() == (written / "submission.csv").read_bytes()


def test_a_half_file_is_gone_on_with(server: LiveServer, demo: Path, tmp_path: Path) -> None:
    """Only the rest of a part is asked for, unless the part is of another file."""
    kaggle = OfficialKaggle(server.url)
    content = (demo / "public" / "train.csv").read_bytes()
    part = tmp_path / "train.part"
    wanted = {"competition_name": SLUG, "file_name": "train.csv"}
    with _send(kaggle._competitions.download_data_file, **wanted) as response:
        tag = response.headers["ETag"]
    part.write_bytes(b"?" * 1000)  # would not be there if the whole came again
    marker = part.with_name(part.name + ".kaggle-partial")  # as the client leaves it beside a part
    marker.write_text(json.dumps({"validator": tag, "size": len(content)}))
    kaggle.download(SLUG, "train.csv", part)
    assert part.read_bytes() == b"?" * 1000 + content[1000:]
    part.write_bytes(b"of another file")
    marker.write_text(json.dumps({"validator": "another", "size": len(content)}))
    kaggle.download(SLUG, "train.csv", part)
    assert part.read_bytes() == content
    assert not marker.exists()


def test_a_submission(server: LiveServer, demo: Path, tmp_path: Path) -> None:
    """A file that is handed in stands on the list of submissions, and counts against the limit."""
    kaggle = OfficialKaggle(server.url)
    before = kaggle.limits(SLUG)
    ref = kaggle.submit(SLUG, demo / "public" / "sample_submission.csv", "the mean of all")
    listed = kaggle.submissions(SLUG).items
    assert [(each.ref, each.description) for each in listed] == [(ref, "the mean of all")]
    assert kaggle.limits(SLUG).allowed_now == before.allowed_now - 1


def test_busy_is_waited_for(server: LiveServer) -> None:
    """A server that asks for time gets it."""
    kaggle, clock = polite(server)
    server.faults.rate_limit(2, retry_after=7, method="ListCompetitionPages")
    assert kaggle.pages(SLUG)
    assert clock.waited == [7, 7]
    server.faults.fail(1, method="ListCompetitionPages")
    assert kaggle.pages(SLUG)


def test_busy_says_how_long(server: LiveServer) -> None:
    """The error carries what the server asked for, and that nothing was done."""
    kaggle = OfficialKaggle(server.url)
    server.faults.rate_limit(1, retry_after=30)
    with pytest.raises(KaggleBusyError, match="limits the rate of requests") as caught:
        kaggle.limits(SLUG)
    assert caught.value.retry_after == 30
    assert not caught.value.may_have_succeeded
    server.faults.fail(1, code=503)
    with pytest.raises(KaggleBusyError, match="503") as caught:
        kaggle.limits(SLUG)
    assert caught.value.may_have_succeeded


def test_nobody_there() -> None:
    """A server that is not there is one line, without a trace of the client's own."""
    with pytest.raises(KaggleBusyError, match="cannot be reached"):
        OfficialKaggle("http://localhost:9").limits(SLUG)


def test_a_response_without_measure_is_given_up() -> None:
    """A tenth of a megabyte of gzip that is more than 64 MiB is one line."""
    flood = compressed(spaces=64 << 20)
    with Endpoint(lambda _asked: "", [flood]) as server:
        kaggle = OfficialKaggle(server.url.removesuffix("/v1"))
        with pytest.raises(KaggleBusyError, match="limits: Kaggle's response is longer than 64 MiB"):
            kaggle.limits(SLUG)


def test_rules_that_nobody_accepted(server: LiveServer, tmp_path: Path) -> None:
    """The line says where they are accepted."""
    server.faults.set_conditions(SLUG, EntryConditions(rules_accepted=False))
    with pytest.raises(KaggleRefusedError, match="accepted the rules") as caught:
        fetch_competition(polite(server)[0], SLUG, tmp_path / "kaggle")
    assert f"competitions/{SLUG}/rules" in caught.value.hint


def test_code_competitions_and_closed_ones(server: LiveServer, demo: Path) -> None:
    """They are known before a file is handed in, and refuse one that is."""
    kaggle = OfficialKaggle(server.url)
    server.faults.set_conditions(SLUG, EntryConditions(code_only=True))
    assert kaggle.competition(SLUG).code_only
    with pytest.raises(KaggleError):
        kaggle.submit(SLUG, demo / "public" / "sample_submission.csv", "a file")
    server.faults.set_conditions(SLUG, EntryConditions(closed=True))
    assert kaggle.competition(SLUG).submissions_closed


def test_unknown_names(server: LiveServer) -> None:
    """What is not there is unknown, whatever it is."""
    kaggle = OfficialKaggle(server.url)
    with pytest.raises(KaggleUnknownError, match="no such competition"):
        kaggle.competition("nothing")
    with pytest.raises(KaggleUnknownError):
        kaggle.notebook("ann/nothing")


def test_a_wrong_key(server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said that the credentials are not accepted, and not which they were."""
    monkeypatch.setenv("KAGGLE_KEY", "wr0ng-key")
    with pytest.raises(KaggleAccountError, match="does not accept") as caught:
        OfficialKaggle(server.url).account()
    assert "wr0ng-key" not in f"{caught.value}{caught.value.hint}"


def test_credentials_that_expire(server: LiveServer) -> None:
    """In the middle, too, it is said that they are the reason."""
    kaggle = OfficialKaggle(server.url)
    assert kaggle.account() == "ann"
    server.faults.expire()
    with pytest.raises(KaggleAccountError, match="does not accept"):
        kaggle.pages(SLUG)


def test_a_token(server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token of the new kind does as well; one that is nobody's is told like a wrong key."""
    monkeypatch.delenv("KAGGLE_USERNAME")
    monkeypatch.delenv("KAGGLE_KEY")
    monkeypatch.setenv("KAGGLE_API_TOKEN", KEY)
    assert OfficialKaggle(server.url).account() == "ann"
    monkeypatch.setenv("KAGGLE_API_TOKEN", "nobody's")
    with pytest.raises(KaggleAccountError, match="does not accept the token") as caught:
        OfficialKaggle(server.url)
    assert not caught.value.missing


def test_no_credentials(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The client's own page of help is one line of ours, and the process goes on."""
    monkeypatch.delenv("KAGGLE_USERNAME")
    monkeypatch.delenv("KAGGLE_KEY")
    with pytest.raises(KaggleAccountError, match="no credentials") as caught:
        OfficialKaggle(server.url)
    assert caught.value.missing
    assert "KAGGLE_API_TOKEN" in caught.value.hint
    monkeypatch.setenv("KAGGLE_USERNAME", "")
    monkeypatch.setenv("KAGGLE_KEY", "")
    with pytest.raises(KaggleAccountError, match="no credentials"):
        OfficialKaggle(server.url)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("endpoint", ["http://example.org", "ftp://localhost", "localhost:8080", "x"])
def test_endpoints_that_get_no_credentials(endpoint: str) -> None:
    """Keys go to Kaggle, to this machine, or to an encrypted address."""
    with pytest.raises(UsageError, match="kaggle endpoint"):
        OfficialKaggle(endpoint)


def test_error_responses_are_dated_as_others_are(server: LiveServer) -> None:
    """The callback gets the date of each response, so that an outage has the server's time."""
    dates: list[datetime] = []
    kaggle = OfficialKaggle(server.url, dates.append)
    server.faults.fail(1)
    with pytest.raises(KaggleBusyError):
        kaggle.competition(SLUG)
    assert len(dates) == 1
    kaggle.competition(SLUG)
    assert len(dates) == 2
