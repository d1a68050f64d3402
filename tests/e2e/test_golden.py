"""What every command prints with `--json`, its exit code and its options stay as they were.

`tests/fixtures/golden/` holds what was printed, with times, names and machine facts masked. After a
wanted change, write it anew and look at the difference:

    .venv/bin/python -m tests.e2e.test_golden && git diff tests/fixtures/golden
"""

import difflib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from comind.competitions.competition_folder import load_competition
from comind.demos.make import make_demo
from comind.live.hosted import HostedCompetition
from comind.live.server import LiveServer
from comind.live.simulated_clock import SimulatedClock
from comind.live.submissions import SubmissionStore
from comind.live.world import MLELive
from tests.e2e.command import SCRIPT, Ran, comind
from tests.e2e.forked import run_forked, start_forked
from tests.unit.prepared import prepared_images

_GOLDEN = Path(__file__).parents[1] / "fixtures" / "golden"
_REWRITE = "GOLDEN_REWRITE"

_SOLVE = (
    "solve demo-tumours --model scripted:script.yaml --iterations 1 --coders 1 --steps 4 --baseline none"
    " --sandbox process --out ."
)
_CAMPAIGN = (
    "solve --resume CAMPAIGN",
    "show CAMPAIGN",
    "show CAMPAIGN think-000",
    "show CAMPAIGN think-000 0",
    "show CAMPAIGN attempt-000",
    "show CAMPAIGN attempt-000 2",
    "grade demo-tumours runs/CAMPAIGN/submission.csv",
    "lineage CAMPAIGN",
    "lineage CAMPAIGN/attempt-000",
    "report .",
    "report runs/CAMPAIGN --write reports",
    "report runs/CAMPAIGN --html page.html",
    "repair",
    "push",
    "gc --dry-run",
    "gc --finals",
    "reproduce CAMPAIGN --sandbox process",
    "submit CAMPAIGN",
    "solve --resume CAMPAIGN --minutes 2000",
)
_PROJECT = (
    "inspect demo-tumours",
    "inspect aerial-cactus-identification",
    "agents",
    "agents comind",
    "doctor",
    "doctor --model offline",
    "knowledge list",
    "knowledge build --papers papers --model scripted:reader.yaml",
    "knowledge build --papers papers --model scripted:reader.yaml",
    "knowledge list",
    "knowledge list --as-of 2021-01-01T00:00:00Z",
    "ingest demo-tumours",
    "ingest demo-tumours --list --as-of 2023-04-01T00:00:00Z",
    "mlebench list",
    "mlebench adapt aerial-cactus-identification --out adapted",
    "grade aerial-cactus-identification aerial-cactus-identification/prepared/private/test.csv",
    "track --status",
    "report .",
    "push",
    "gc",
    "repair",
    "init made",
)
_BENCH = (
    "bench small.yaml --dry-run",
    "bench small.yaml",
    "bench small.yaml --report",
    "report benches/small --html page.html",
)
_TRACK = (
    "track demo-tumours --once --submit auto --model offline --minutes 10",
    "track demo-tumours --status",
    "track --status",
)
_FAILURES = (
    *("slove demo-tumours", "solve", "solve nowhere", "solve demo-tumours --no-such-option 1"),
    *("solve demo-tumours --resume no-such", "solve --resume no-such", "solve --resume x --set a=1"),
    *("solve demo-tumours --profile qiuck", "solve demo-tumours --sandbox vm"),
    *("solve demo-tumours --coders 0", "solve demo-tumours --minutes soon"),
    *("solve demo-tumours --agent nobody", "solve demo-tumours --set no_such=1"),
    *("solve demo-tumours --community nowhere", "solve demo-tumours --as-of yesterday"),
    *("solve empty", "inspect nowhere", "inspect empty"),
    *("show no-such", "lineage no-such", "reproduce no-such", "repair no-such", "push no-such"),
    *(
        "grade demo-tumours nowhere.csv",
        "grade nowhere nowhere.csv",
        "agents nobody",
        "prompts nobody",
        "prompts aide nobody",
    ),
    *("report nowhere", "report . --html page.html", "report . --data nowhere"),
    *("knowledge build", "knowledge burn", "knowledge list nowhere"),
    *("store add", "store add resnet", "store add --recommended image", "store burn"),
    *("ingest", "ingest nowhere", "ingest demo-tumours --folder nowhere"),
    *("track", "track Demo!", "track no-such --status", "track demo-tumours --once --every 1"),
    *("track demo-tumours --once", "track demo-tumours --submit maybe"),
    *("bench nowhere.yaml", "bench list", "mlebench adapt", "mlebench adapt nowhere"),
    *("submit no-such", "submit script.yaml"),
    *("live", "live serve --speed 2", "live serve --data nowhere", "live serve --port 70000"),
    *("ui --port 70000", "ui --json", "doctor --install now", "gc everything"),
)

_ACTIONS = (
    *("live serve", "knowledge build", "knowledge list", "store add", "store list"),
    *("mlebench list", "mlebench adapt", "mlebench validate"),
)

_MASKED = {
    *("seconds", "at", "created_at", "bytes", "mlflow_run_id", "dvc_rev", "port", "url"),  # of the run
    "dvc",  # hash of Parquet files, which DuckDB writes with its version
    *("threads", "environment_sha256", "revision", "diff_sha256", "solution_md5"),  # machine, checkout
    *("content", "description", "prompts_sha256"),  # prompts, and the prose of agents
}
_PATTERNS = (
    (re.compile(r"demo-tumours-[a-z]+-\d{8}-\d{6}-[0-9a-f]{4}"), "CAMPAIGN"),
    (re.compile(r"comind-pipeline \d\S+"), "comind-pipeline VERSION"),
    (re.compile(r"http://127\.0\.0\.1:\d+"), "http://127.0.0.1:PORT"),
)
_MOST_ITEMS = 20


def _masked(value: Any, project: Path) -> Any:
    """Return a value of a command without what differs from run to run."""
    if isinstance(value, dict):
        hidden = _MASKED - ({"seconds"} if "closing_share" in value else set())  # a budget's are given
        return {
            name: _type_of(each) if name in hidden else _masked(each, project)
            for name, each in value.items()
        }
    if isinstance(value, list):
        items = [_masked(each, project) for each in value[:_MOST_ITEMS]]
        return items + [f"and {len(value) - _MOST_ITEMS} more"] * (len(value) > _MOST_ITEMS)
    if isinstance(value, str):
        value = value.replace(str(project), "PROJECT").replace(str(project.parent), "FOLDER")
        for pattern, shown in _PATTERNS:
            value = pattern.sub(shown, value)
    return value


def _type_of(value: Any) -> str | None:
    """Return what a masked value is."""
    return None if value is None else f"<{'number' if isinstance(value, int | float) else 'text'}>"


def _masked_check(check: dict[str, Any]) -> dict[str, Any]:
    """Return a check of `comind doctor` without what it found on this machine."""
    ours = not check["name"].startswith("sandbox")
    return {"name": check["name"], "needed": check["needed"]} | ({"ok": check["ok"]} if ours else {})


class _Place:
    """A project, and the commands that were run there."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.project.mkdir()
        (root / "home").mkdir()
        self.env = {"HOME": str(root / "home"), "KAGGLE_CONFIG_DIR": str(root / "home")}
        self.campaign = ""
        self.printed: dict[str, Any] = {}
        shutil.copy(SCRIPT, self.project / "script.yaml")

    def write(self, name: str, values: Any) -> None:
        """Write a file of the project as JSON, which is YAML, too."""
        (self.project / name).write_text(json.dumps(values))

    def run(self, *lines: str) -> Ran:
        """Run commands with `--json`; returns how the last one ended."""
        for line in lines:
            words = shlex.split(line.replace("CAMPAIGN", self.campaign))
            words += ["--json"] * (words[0] != "ui")
            ran = comind(*words, cwd=self.project, **self.env)
            assert ran.exit_code != 1, f"{line}: {ran.stderr}"
            self.keep(line, ran.exit_code, ran.json if ran.stdout else ran.error_lines)
        return ran

    def add_remotes(self) -> None:
        """Give the project a git remote, and a remote for its data."""
        root = self.project.parent
        subprocess.run(["git", "init", "--quiet", "--bare", root / "origin.git"], check=True)
        add = ["git", "remote", "add", "origin", root / "origin.git"]
        subprocess.run(add, cwd=self.project, check=True)
        said = root / "stdout", root / "stderr"
        add = ["remote", "add", "--quiet", "-d", "store", str(root / "store")]
        assert run_forked(add, self.project, os.environ, said, seconds=60, program="dvc") == 0

    def keep(self, line: str, exit_code: int, printed: Any) -> None:
        """Keep what a command printed, without what is this run's own."""
        if line.startswith("doctor") and "checks" in printed:
            printed = printed | {"checks": [_masked_check(each) for each in printed["checks"]]}
        name = line if line not in self.printed else f"{line} (again)"
        self.printed[name] = {"exit_code": exit_code, "json": _masked(printed, self.project)}


@pytest.fixture
def place(tmp_path: Path, shared_server: str) -> _Place:
    """An empty project."""
    return _Place(tmp_path)


def _compare(name: str, found: dict[str, Any]) -> None:
    """Compare with the golden file, or write it."""
    path = _GOLDEN / f"{name}.json"
    if os.environ.get(_REWRITE):
        path.parent.mkdir(exist_ok=True)
        path.write_text(_text(found), encoding="utf-8")
    golden = json.loads(path.read_text(encoding="utf-8"))
    changed = [
        f"{line}\n{_difference(golden.get(line), found.get(line))}"
        for line in sorted(found.keys() | golden.keys())
        if golden.get(line) != found.get(line)
    ]
    assert not changed, "\n\n".join(changed)


def _difference(golden: Any, found: Any) -> str:
    """Return the lines of two JSON values that differ, with some others around."""
    texts = [_text(each).splitlines() for each in (golden, found)]
    return "\n".join(difflib.unified_diff(*texts, "golden", "found", lineterm=""))


def _text(value: Any) -> str:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def test_a_campaign(place: _Place) -> None:
    """A campaign of a scripted model is run, shown, graded, reported, reproduced and resumed."""
    ran = place.run(_SOLVE)
    place.campaign = ran.json["campaign"]
    place.run(*_CAMPAIGN)
    place.add_remotes()
    place.run("push CAMPAIGN")
    _compare("campaign", place.printed)


def test_a_project_without_campaigns(place: _Place) -> None:
    """Commands that need no campaign."""
    prepared_images(place.project)
    trees = {"kind": "trick", "title": "Trees", "text": "Fit."}
    place.write(
        "reader.yaml",
        [
            {"reply": "Labels", "say": {"numbers": [1]}},
            {"reply": "Extract", "say": {"useful": True, "findings": [trees]}},
        ],
    )
    (place.project / "papers").mkdir()
    (place.project / "papers" / "2021-02-03.txt").write_text("# Trees on tables\nThey are strong.")
    place.run(*_PROJECT)
    _compare("project", place.printed)


def test_a_bench(place: _Place) -> None:
    """A bench of one campaign is estimated, run and reported."""
    common = {"model": "offline", "iterations": 0, "folds": 0, "refit": False, "prove": False}
    plan = {"competitions": ["demo-tumours"], "seeds": 1, "profile": "quick"}
    place.write("small.yaml", plan | {"common": common, "arms": {"one": {}}})
    place.run(*_BENCH)
    _compare("bench", place.printed)


def test_a_followed_competition(place: _Place) -> None:
    """A competition is followed for a day, with a submission."""
    folder = place.project.parent
    demo = load_competition(make_demo("demo-tumours", folder / "data"))
    clock = SimulatedClock(datetime(2023, 3, 9, 12, tzinfo=UTC))
    world = MLELive(demo, clock, scores="public", store=SubmissionStore(folder / "state"))
    place.env |= {"KAGGLE_USERNAME": "ann", "KAGGLE_KEY": "secret-key"}
    with LiveServer([HostedCompetition(world, folder / "archives")]) as server:
        solve = {"iterations": 0, "prove": False, "refit": False, "folds": 0}
        kaggle = {"endpoint": server.url, "rate_limit": {"pause_seconds": 0}}
        place.write("params.yaml", {"solve": solve, "kaggle": kaggle})
        place.run(*_TRACK)
    _compare("track", place.printed)


def test_a_served_competition(place: _Place) -> None:
    """`comind live serve` prints one object when it serves, and ends without an error."""
    said = place.project.parent / "stdout", place.project.parent / "stderr"
    words = ["live", "serve", "--port", "0", "--as-of", "2023-04-01T00:00:00Z", "--json"]
    process = start_forked(words, place.project, {**os.environ, **place.env}, said)
    end = time.monotonic() + 60
    while not (said[0].exists() and said[0].read_text().endswith("\n")) and time.monotonic() < end:
        time.sleep(0.05)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGTERM)
    process.join(60)
    assert process.exitcode is not None
    place.keep(" ".join(words[:-1]), process.exitcode, json.loads(said[0].read_text()))
    _compare("live", place.printed)


def test_failures(place: _Place) -> None:
    """What cannot be done is refused with the same words, and nothing is started."""
    (place.project / "empty").mkdir()
    place.run(*_FAILURES)
    _compare("failures", place.printed)
    assert not (place.project / "runs").exists()


def _declared(help_text: str) -> list[str]:
    """Return the arguments and options of a help text, with their values."""
    _, _, sections = help_text.partition("\n\n")
    return sorted(re.findall(r"^  (\S(?: ?\S)*)", sections, re.MULTILINE))


def test_options(tmp_path: Path) -> None:
    """Each command has its arguments and options, and is part of a golden run."""
    whole = comind("--help", cwd=tmp_path, COLUMNS="200").stdout
    commands = re.findall(r"^    ([a-z]+)", whole, re.MULTILINE)
    found = {"": _declared(whole)}
    for name in [*commands, *_ACTIONS]:
        ran = comind(*name.split(), "--help", cwd=tmp_path, COLUMNS="200")
        assert ran.exit_code == 0, ran.stderr
        found[name] = _declared(ran.stdout)
    _compare("options", found)
    lines = [_SOLVE, *_CAMPAIGN, *_PROJECT, *_BENCH, *_TRACK, *_FAILURES]
    assert {line.split()[0] for line in lines} >= set(commands)


if __name__ == "__main__":
    again = [sys.executable, "-m", "pytest", "-q", "-n", "0", __file__]
    sys.exit(subprocess.run(again, env={**os.environ, _REWRITE: "yes"}, check=False).returncode)
