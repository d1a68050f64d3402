"""`comind live serve`, and the official Kaggle client in front of it: its command and its package."""

import contextlib
import csv
import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from comind.community.lines import parse_time
from comind.competitions.competition_folder import load_competition
from comind.demos.make import make_demo
from comind.live.hosted import HostedCompetition
from comind.live.server import LiveServer
from comind.live.world import MLELive
from tests.e2e.command import comind

_DEMO = "demo-diabetes"
_NOTEBOOK = "petra-nowak/a-line-with-shrinkage"


def _own_network() -> list[str]:
    """Return what puts a program into a network namespace of its own; nothing where port 80 is free.

    The unmodified command knows one local address only, at port 80.
    """
    for way in (["unshare", "-n"], ["unshare", "-rn"]):
        if subprocess.run([*way, "true"], capture_output=True, check=False).returncode == 0:
            return way
    with socket.socket() as free:
        free.bind(("127.0.0.1", 80))  # a machine that allows neither cannot run this test
    return []


def _table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_kaggle_command_lives_through_a_day(tmp_path: Path) -> None:
    """It lists, downloads, reads discussions, pulls a notebook, submits, polls, and finds its rank."""
    demo = make_demo(_DEMO, tmp_path / "data" / "demos")
    sample = demo / "public" / "sample_submission.csv"
    commands = [
        ["competitions", "list", "-v"],
        ["competitions", "files", _DEMO, "-v"],
        ["competitions", "download", _DEMO, "-p", "got", "-q"],
        ["competitions", "download", _DEMO, "-f", "train.csv", "-p", "got", "-q"],
        ["competitions", "pages", _DEMO, "list", _DEMO, "-v", "--content"],
        ["competitions", "topics", "list", _DEMO, "-v"],
        ["competitions", "topics", "show", "FIRST-TOPIC"],
        ["kernels", "list", "--competition", _DEMO, "--sort-by", "scoreAscending", "-v"],
        ["kernels", "pull", _NOTEBOOK, "-p", "pulled", "-m"],
        ["kernels", "output", _NOTEBOOK, "-p", "output"],
        ["datasets", "list", "-v"],
        ["competitions", "submit", _DEMO, "-f", str(sample), "-m", "all the same", "-q"],
        ["competitions", "submissions", _DEMO, "-v"],
        ["competitions", "submission-limits", _DEMO],
        ["competitions", "leaderboard", _DEMO, "--show", "-v"],
        ["competitions", "leaderboard", _DEMO, "--download", "-p", "board", "-q"],
        ["competitions", "list", "-v"],
        ["competitions", "files", "no-such-competition"],
        ["competitions", "download", _DEMO, "-f", "../private/answers.csv", "-p", "got", "-q"],
    ]
    plan = tmp_path / "commands.json"
    plan.write_text(json.dumps(commands))
    day = Path(__file__).with_name("kaggle_day.py")
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [*_own_network(), sys.executable, str(day), str(tmp_path), str(plan)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": root},
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["served"]["port"] == 80
    assert told["server_exit_code"] == 0
    codes = [result["code"] for result in told["commands"]]
    assert codes == [0] * 17 + [1, 1], told["commands"]
    (
        listed,
        files,
        _,
        _,
        pages,
        topics,
        topic,
        notebooks,
        _,
        _,
        datasets,
        submitted,
        submissions,
        *rest,
    ) = [result["stdout"] for result in told["commands"]]
    limits, board, _, listed_again, unknown, refused = rest

    demos = ["demo-diabetes", "demo-digits", "demo-mosaic", "demo-tumours"]
    assert [row["ref"] for row in _table(listed)] == demos
    names = ["description.md", "sample_submission.csv", "test.csv", "train.csv"]
    assert [row["name"] for row in _table(files)] == names
    with zipfile.ZipFile(tmp_path / "got" / f"{_DEMO}.zip") as archive:
        assert sorted(archive.namelist()) == names
    train = (demo / "public" / "train.csv").read_bytes()
    assert (tmp_path / "got" / "train.csv").read_bytes() == train
    assert [row["name"] for row in _table(pages)] == ["description", "evaluation", "rules"]
    # The other topic and a third notebook are from later, and so are the votes of the first.
    assert [(row["title"], row["votes"]) for row in _table(topics)] == [
        ("Boosting loses to a straight line here", "0")
    ]
    assert "petra-nowak (2023-05-17 07:40:00)" in topic
    assert [row["ref"] for row in _table(notebooks)] == [
        _NOTEBOOK,
        "joon-park/products-and-the-lasso",
    ]
    source = (demo / "community" / "notebooks" / "ridge.py").read_text()
    assert (tmp_path / "pulled" / "a-line-with-shrinkage.py").read_text() == source
    metadata = json.loads((tmp_path / "pulled" / "kernel-metadata.json").read_text())
    assert (metadata["id"], metadata["competition_sources"]) == (_NOTEBOOK, [_DEMO])
    assert _table(datasets)[0]["ref"] == "wdbc/feature-notes"
    assert submitted.endswith("Successfully submitted to Diabetes: how far in a year")
    (submission,) = _table(submissions)
    assert submission["status"] == "SubmissionStatus.COMPLETE"
    assert submission["date"] == "2023-05-20 14:00:00"
    assert float(submission["publicScore"]) > 50
    assert submission["privateScore"] == ""
    assert "Remaining today: 4" in limits
    (entry,) = _table(board)
    assert (entry["teamName"], entry["score"]) == ("ann", submission["publicScore"])
    with zipfile.ZipFile(tmp_path / "board" / f"{_DEMO}.zip") as archive:
        assert b"ann" in archive.read(f"{_DEMO}-publicleaderboard.csv")
    assert _table(listed_again)[0]["userRank"] == "1"
    assert "Competition not found" in unknown + told["commands"][17]["stderr"]
    assert "File not found" in refused + told["commands"][18]["stderr"]
    assert not list(tmp_path.glob("got/*answers*"))


_LIBRARY = """
import json, sys
from kaggle.api.kaggle_api_extended import KaggleApi
from kagglesdk import KaggleClient, KaggleEnv

url, folder, sample = sys.argv[1:]

class LiveApi(KaggleApi):
    def build_kaggle_client(self):
        client = KaggleClient(env=KaggleEnv.LOCAL, username="ann", password="any")
        client.http_client()._endpoint = url
        return client

api = LiveApi()
api.authenticate()
name = "demo-diabetes"
said = {"listed": [c.ref for c in api.competitions_list(search="diabetes").competitions]}
api.competition_download_files(name, path=folder)
topics = api.competition_list_topics(name, sort_by="top").topics
messages = api.competition_list_topic_messages(name, topics[0].id, page_size=-1).messages
said["messages"] = [m.author_name for m in messages]
(first, *_) = api.kernels_list(competition=name, sort_by="voteCount")
said["notebook"] = first.ref
said["pulled"] = api.kernels_pull(first.ref + "/1", path=folder)
said["submitted"] = api.competition_submit(sample, "once", name, quiet=True).message
while True:
    (submission,) = api.competition_submissions(name)
    if submission.status.name != "PENDING":
        break
said["status"] = submission.status.name
said["score"] = submission.public_score
said["board"] = [e.team_name for e in api.competition_leaderboard_view(name)]
print(json.dumps(said))
"""


def test_the_kaggle_package_takes_any_port(tmp_path: Path) -> None:
    """With the method that builds its client overridden, as docs/mle-live.md shows; scores sealed."""
    demo = make_demo(_DEMO, tmp_path / "demos")
    world = MLELive(load_competition(demo), parse_time("2023-06-30T00:00:00Z"))
    sample = demo / "public" / "sample_submission.csv"
    with LiveServer([HostedCompetition(world, tmp_path / "archives")]) as server:
        done = subprocess.run(
            [sys.executable, "-c", _LIBRARY, server.url, str(tmp_path / "got"), str(sample)],
            capture_output=True,
            text=True,
            env={
                **os.environ,
                "HOME": str(tmp_path),
                "KAGGLE_CONFIG_DIR": str(tmp_path / "kaggle"),
                "KAGGLE_USERNAME": "ann",
                "KAGGLE_KEY": "any",
            },
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said == {
        "listed": [_DEMO],
        "messages": ["joon-park", "petra-nowak"],
        "notebook": _NOTEBOOK,
        "pulled": str(tmp_path / "got" / "a-line-with-shrinkage.py"),
        "submitted": "Successfully submitted to Diabetes: how far in a year",
        "status": "COMPLETE",
        "score": "",
        "board": [],
    }
    assert (tmp_path / "got" / f"{_DEMO}.zip").is_file()


@contextlib.contextmanager
def _serve(project: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Start the command on any free port; it says where it is."""
    command = [sys.executable, "-m", "comind.cli", "live", "serve", "--port", "0", "--json"]
    command += ["--out", str(project), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server, json.loads(server.stdout.readline())
        finally:
            server.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_server_ends_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    """Told to stop, it exits with 0 within seconds, and its port is free again."""
    make_demo(_DEMO, tmp_path / "demos")
    with _serve(tmp_path, "--data", str(tmp_path / "demos")) as (server, told):
        assert told["competitions"] == [_DEMO]
        server.send_signal(number)
        started = time.monotonic()
        assert server.wait(20) == 0
        assert time.monotonic() - started < 10
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", told["port"]))


def test_a_port_in_use_is_one_line(tmp_path: Path) -> None:
    """With exit code 4, and how to mend it."""
    make_demo(_DEMO, tmp_path / "demos")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ran = comind("live", "serve", "--port", port, "--data", tmp_path / "demos", "--out", tmp_path)
    assert ran.exit_code == 4
    assert "cannot listen there (address already in use)" in ran.error_lines[-1]
    assert "--port" in ran.stderr


def test_bad_usage_is_one_line(tmp_path: Path) -> None:
    """With exit code 2."""
    ran = comind("live", "serve", "--data", "nowhere", "--out", tmp_path, cwd=tmp_path)
    assert ran.exit_code == 2
    assert "nowhere: does not exist" in ran.error_lines[-1]


def test_a_broken_competition_is_left_out(tmp_path: Path) -> None:
    """Others in the same folder are served, and the reason is said."""
    make_demo(_DEMO, tmp_path / "demos")
    (tmp_path / "demos" / "broken").mkdir()
    (tmp_path / "demos" / "broken" / "competition.yaml").write_text("id: broken\n")
    with _serve(tmp_path, "--data", str(tmp_path / "demos")) as (_, told):
        assert told["competitions"] == [_DEMO]
