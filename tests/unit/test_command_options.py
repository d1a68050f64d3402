"""No option is accepted and ignored: in each mode of a command it is read, or refused by name.

`_MODES` lists calls that together reach each mode of each command; a call ends well, or is refused once
all that it uses is read. What is printed for `--json` is in the golden run, and what becomes of settings
of a campaign in test_settings.py.
"""

import argparse
import io
import json
import os
import shlex
import socket
import tarfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from comind.campaign.log.campaign_settings import CampaignSettings
from comind.cli.main import add_log_options, main, parse
from comind.cli.parsing import Parser
from comind.cli.table import all_commands
from comind.errors import ComindError, UsageError
from comind.following.state import FollowingLog
from tests.unit.competitions.folders import competition_folder
from tests.unit.following.days import observation
from tests.unit.prepared import prepared_images
from tests.unit.wiring.plugins import installed

_RECORD = Path(__file__).parents[1] / "fixtures" / "campaign-046aedd.tar.xz"
_CAMPAIGN = "demo-tumours-comind-20261122-035228-b992"
_IMAGES = "mle/aerial-cactus-identification"

_OF_MAIN = {"help", "json", "log_level"}
"""What `main` reads itself."""

_MODES = (
    "init made",
    "solve demo-tumours --agent nobody",
    "solve download --describe 'Evaluated on the accuracy.' --agent nobody",
    "solve --resume no-such",
    "inspect demo-tumours",
    "inspect download --describe 'Evaluated on the accuracy.'",
    f"grade demo-tumours runs/{_CAMPAIGN}/submission.csv",
    f"grade {_IMAGES} {_IMAGES}/prepared/private/test.csv",
    "track --status",
    "track followed --status",
    "track titanic",
    "track titanic --once",
    "track followed --allow rules",
    "track titanic --submit ask",
    f"submit {_CAMPAIGN}",
    f"submit runs/{_CAMPAIGN}/submission.csv --competition titanic",
    "ingest demo-tumours",
    "ingest demo-tumours --list --as-of none",
    "ingest --meta-kaggle nowhere",
    "ingest --code nowhere",
    "ingest small --listing nowhere",
    "ingest small --folder nowhere",
    "ingest small --kaggle",
    "knowledge list",
    "knowledge build --papers papers --model scripted:reader.yaml",
    "knowledge build --model scripted:reader.yaml --community read --competition demo-tumours",
    "store list",
    "store add no-such",
    "store add --recommended tables",
    "agents",
    "agents baseline",
    "prompts greedy",
    "prompts comind coordinator",
    f"show {_CAMPAIGN}",
    f"show {_CAMPAIGN} attempt-001",
    f"show {_CAMPAIGN} attempt-001 1",
    "report .",
    f"report runs/{_CAMPAIGN} --data mle",
    f"report runs/{_CAMPAIGN} --html page.html",
    "bench small.yaml --dry-run",
    "bench small.yaml --report",
    f"lineage {_CAMPAIGN}",
    f"lineage {_CAMPAIGN} --dot",
    f"lineage {_CAMPAIGN} --mermaid",
    "reproduce no-such",
    "reproduce no-such --all",
    "repair no-such",
    "push no-such",
    "gc --dry-run",
    "live serve --as-of none --data competitions --port PORT",
    "doctor",
    "ui --prefect-port 70000",
    "mlebench list",
    f"mlebench adapt {_IMAGES}",
    f"mlebench validate {_IMAGES} --port PORT",
)

_VALUES = {
    "COMPETITION": "demo-tumours",
    "--agent": "aide",
    "--all": "",
    "--allow": "rules",
    "--as-of": "2023-04-01",
    "--attempt-minutes": "7",
    "--baseline": "none",
    "--blend": "",
    "--cell-minutes": "6",
    "--closing-share": "0.1",
    "--closing-time-share": "0.3",
    "--code": "code",
    "--coders": "2",
    "--community": "demo-tumours/community",
    "--competition": "demo-tumours",
    "--cores": "1",
    "--data": "mle",
    "--datasets": "",
    "--describe": "A text.",
    "--discussions": "5",
    "--dot": "",
    "--dry-run": "",
    "--ensemble": "",
    "--every": "2",
    "--feedback": "dev",
    "--finals": "",
    "--folder": "demo-tumours/community",
    "--evaluations": "9",
    "--folds": "2",
    "--from-scratch": "",
    "--gpus": "1",
    "--host": "127.0.0.1",
    "--html": "page.html",
    "--install": "",
    "--iterations": "0",
    "--kaggle": "",
    "--kind": "programs",
    "--list": "",
    "--listing": "listing.json",
    "--max-submissions": "3",
    "--max-tokens": "1000",
    "--max-usd": "1",
    "--mermaid": "",
    "--message": "A text.",
    "--meta-kaggle": "dump",
    "--minutes": "12",
    "--mlflow-port": "5001",
    "--mode": "mlebench",
    "--model": "offline",
    "--monitor": "",
    "--most": "10",
    "--notebooks": "4",
    "--once": "",
    "--out": ".",
    "--papers": "papers",
    "--pick": "simplest",
    "--pool": "gpu",
    "--port": "8051",
    "--prefect-port": "4201",
    "--profile": "quick",
    "--prompt": "",
    "--prove": "",
    "--push": "",
    "--ranking": "votes",
    "--recommended": "tables",
    "--refit": "",
    "--report": "",
    "--resume": "no-such",
    "--round-share": "1",
    "--runs": "2",
    "--sandbox": "process",
    "--scores": "public",
    "--seed": "3",
    "--set": "width=7",
    "--speed": "2",
    "--status": "",
    "--steps": "9",
    "--store": "store",
    "--strict": "",
    "--submissions": "4",
    "--submit": "ask",
    "--user": "ann:key",
    "--write": "written",
}
"""A value of each option, which may be its default: being named is what counts."""


_REFUSED = (
    ("track --status --coders 3", "--coders: has no effect with --status"),
    ("track titanic --status --submit never", "--submit: has no effect with --status"),
    ("track titanic --status --allow rules", "--allow: has no effect with --status"),
    ("track titanic --max-submissions 3", "--max-submissions: has no effect without --submit"),
    (f"report runs/{_CAMPAIGN} --html p.html --mode kaggle", "--mode: has no effect with --html"),
    (f"report runs/{_CAMPAIGN} --mode mlebench", "--mode: has no effect without --data"),
    (f"report runs/{_CAMPAIGN} --data mle", "--data mle: has no data of demo-tumours"),
    ("knowledge list --papers papers", "unrecognized arguments: --papers"),
    ("knowledge build --papers papers --as-of none", "unrecognized arguments: --as-of"),
    ("knowledge build --papers papers --most 10", "--most: has no effect without --community"),
    ("store add --recommended tables NAME", "name models, or --recommended KIND"),
    ("store list --recommended tables", "unrecognized arguments: --recommended"),
    ("ingest titanic --kaggle --meta-kaggle dump", "--meta-kaggle: has no effect with --kaggle"),
    ("ingest titanic --code code", "titanic: has no effect, as Meta Kaggle is of all"),
    ("bench small.yaml --report --dry-run", "argument --dry-run: not allowed with argument --report"),
    (f"lineage {_CAMPAIGN} --dot --json", "argument --json: not allowed with argument --dot"),
    (f"show {_CAMPAIGN} attempt-001 --prompt", "--prompt: has no effect without a STEP"),
    (f"show {_CAMPAIGN} attempt-001 1 --prompt --json", "--prompt: has no effect with --json"),
    (f"reproduce {_CAMPAIGN}/attempt-002 --all", "--all: has no effect on attempt-002 alone"),
    ("grade demo-tumours x.csv --mode mlebench", "--mode mlebench: "),
    ("solve demo-tumours --describe text", "--describe: has no effect, as demo-tumours is no"),
    ("solve --resume x --profile quick", "--profile: a campaign that is resumed keeps"),
    ("live serve --speed 2", "--speed goes with --as-of only"),
    ("agents --verbose --log-level debug", "argument --log-level: not allowed with argument --verbose"),
)


class _Recorded(argparse.Namespace):
    """Arguments that note which of them are read."""

    def __init__(self, given: argparse.Namespace) -> None:
        object.__setattr__(self, "_read", set())
        super().__init__(**vars(given))

    def __getattribute__(self, name: str) -> Any:
        # `vars(args)` is how settings of a campaign are read, which test_settings.py follows.
        read = CampaignSettings.model_fields if name == "__dict__" else [name]
        object.__getattribute__(self, "_read").update(read)
        return object.__getattribute__(self, name)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a recorded campaign, and what the calls above name."""
    folder = tmp_path_factory.mktemp("options")
    with tarfile.open(_RECORD) as archive:
        archive.extractall(
            folder, [each for each in archive if each.name.startswith("ended")], filter="tar"
        )
    project = folder / "ended"
    prepared_images(project / "mle")
    competition_folder(project / "competitions")
    competition_folder(project / "data" / "kaggle")
    (project / "download").mkdir()
    for name in ("train", "test"):
        file = project / "competitions" / "small" / "public" / f"{name}.csv"
        (project / "download" / file.name).write_text(file.read_text())
    (project / "read").symlink_to("demo-tumours/community")
    (project / "papers").mkdir()
    (project / "papers" / "2021-02-03.txt").write_text("# Trees on tables\nThey are strong.")
    replies = [
        {"reply": "Labels", "say": {"numbers": [1]}},
        {"reply": "Extract", "say": {"useful": False, "findings": []}},
    ]
    (project / "reader.yaml").write_text(json.dumps(replies))
    plan = {"competitions": ["demo-tumours"], "seeds": 1, "profile": "quick"}
    (project / "small.yaml").write_text(json.dumps(plan | {"arms": {"one": {"model": "offline"}}}))
    with FollowingLog(project, "followed") as log:
        log.record(observation())
    return project


@pytest.fixture
def project(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The project as the current folder; the environment is afterwards what it was."""
    before = dict(os.environ)
    monkeypatch.chdir(made)
    os.environ |= {"HOME": str(tmp_path), "KAGGLE_CONFIG_DIR": str(tmp_path)}
    yield made
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A port that another program has."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


def _parsers(name: str) -> dict[str, argparse.ArgumentParser]:
    """Return the parser of a command, or those of its subcommands, by the words that call them."""
    parser = Parser(prog=name)
    all_commands()[name].arguments(parser)
    add_log_options(parser)
    nested = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    return {f"{name} {sub}": found for each in nested for sub, found in each.choices.items()} or {
        name: parser
    }


def _called(words: list[str]) -> tuple[str, argparse.ArgumentParser]:
    """Return the command and subcommand of a call, and their parser."""
    parsers = _parsers(words[0])
    name = words[0] if words[0] in parsers else " ".join(words[:2])
    return name, parsers[name]


def _read(words: list[str]) -> tuple[set[str], str]:
    """Run a command; returns the names of the arguments that it read, and why it was refused."""
    recorded, refused = _Recorded(parse(words)), ""
    recorded.stdout = io.StringIO()
    try:
        import_module(all_commands()[words[0]].module).run(recorded)
    except ComindError as error:
        refused = str(error)
    return object.__getattribute__(recorded, "_read"), refused


def _name(action: argparse.Action) -> str:
    return action.option_strings[0] if action.option_strings else str(action.metavar)


def _ignored(words: list[str]) -> list[str]:
    """Return the options that a call, with each of them in turn, neither reads nor refuses."""
    read, _ = _read(words)
    found = []
    for action in _called(words)[1]._actions:
        if action.dest in read or action.dest in _OF_MAIN:
            continue
        option = _name(action)
        more = [option] * (option != action.metavar) + [_VALUES[option]] * bool(_VALUES[option])
        try:
            read_then, refused = _read([*words, *more])
        except UsageError as error:
            read_then, refused = set(), str(error)
        if action.dest not in read_then and option not in refused:
            found.append(option)
    return found


@pytest.mark.parametrize("call", _MODES)
def test_an_option_is_read_or_refused(
    call: str, project: Path, port: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each option of the command is read in this mode of it, or a line names it."""
    assert _ignored(shlex.split(call.replace("PORT", str(port)))) == []


def test_each_command_is_called() -> None:
    """Each command and subcommand has a mode above, and each option a value."""
    parsers = {word: parser for name in all_commands() for word, parser in _parsers(name).items()}
    assert {_called(shlex.split(call))[0] for call in _MODES} == {*parsers}
    options = {
        each.option_strings[0]
        for parser in parsers.values()
        for each in parser._actions
        if each.option_strings and each.dest not in _OF_MAIN
    }
    assert {*_VALUES} == options | {"COMPETITION"}


@pytest.mark.parametrize(("line", "where"), _REFUSED)
def test_what_has_no_effect_is_refused(
    line: str, where: str, project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The line names the option and the mode; the exit code is 2."""
    assert main(shlex.split(line)) == 2
    [error] = [each for each in capfd.readouterr().err.splitlines() if each.startswith("comind: ")]
    assert error.startswith(f"comind: {where}")


_PLANTED = """
from comind.cli.command import CommandResult
from comind.cli.parsing import refuse
from comind.cli.table import Command


def _arguments(parser):
    '''Weave threads.'''
    for option in ("--threads", "--planted", "--refused", "--together"):
        parser.add_argument(option, metavar="N")
    parser.set_defaults(check=lambda args: refuse(args, "in weaving", "refused"))


def run(args):
    return CommandResult({"woven": args.threads and args.together})


Plugged = Command("some_loom", _arguments)
"""


def test_a_planted_option_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An option that is declared alone is found; one that is read, or refused, is not."""
    options = ("--threads", "--planted", "--refused", "--together")
    with installed(tmp_path / "site") as plugins:
        plugins.add("some-loom", "weave", _PLANTED, group="comind.commands")
        for option in options:
            monkeypatch.setitem(_VALUES, option, "1")
        assert _ignored(["weave", "--threads", "2"]) == ["--planted"]
