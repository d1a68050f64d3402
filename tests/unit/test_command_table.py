"""Tests of the table of commands."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from comind.cli import table
from comind.cli.main import main
from comind.cli.table import COMMANDS
from tests.unit.wiring.plugins import Installed, installed

_LISTING = """
import sys
from comind.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(*sorted(name for name in sys.modules if name.startswith("comind.cli.")), file=sys.stderr)
"""


def _imported(*arguments: str) -> set[str]:
    """Return the modules of the table that are imported by a call of `comind`."""
    command = [sys.executable, "-c", _LISTING, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return set(done.stderr.split()) & {each.module for each in COMMANDS.values()}


@pytest.mark.parametrize(
    "call",
    [
        "--help",
        "lineage --help",
        "lineage --mermad x",
        "live srve",
        "solve",
        "solve x --coders 1000",
        "solve /no/such/folder",
        "solve --resume x --seed 3",
        "grade ../nowhere x.csv",
        "track titanic --once --runs 3",
    ],
)
def test_help_and_wrong_arguments_import_no_command(call: str) -> None:
    """The modules of commands, which take seconds, are imported once the arguments are right."""
    assert _imported(*call.split()) == set()


def test_only_the_named_command_is_imported(tmp_path: Path) -> None:
    """A command imports its own module, and that of no other command."""
    assert _imported("show", "x", "--out", str(tmp_path)) == {"comind.cli.show"}


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_of_the_table_is_there(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Its help begins with its line in the table, and its module has the function that runs it."""
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert COMMANDS[name].summary in " ".join(capsys.readouterr().out.split())
    assert callable(import_module(COMMANDS[name].module).run)


def test_commands_import_at_the_top_of_their_modules() -> None:
    """Except what reads the address of Prefect's server on import, what is checked, and settings."""
    found = {
        path.stem
        for path in Path(table.__file__).parent.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom) and node.col_offset
    }
    assert found == {"in_process", "track", "doctor", "argument_checks"}


def test_no_command_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a command there is one line, which names an example, and exit code 2."""
    assert main([]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "comind: no command is named, such as solve in: comind solve COMPETITION",
        "        see comind --help",
    ]


_WEAVE = """
import argparse

from comind.cli.command import CommandResult
from comind.cli.table import Command


def _arguments(parser):
    '''Weave so many threads.'''
    parser.add_argument("threads", type=int)
    parser.add_argument("--json", action="store_true")


def run(args):
    return CommandResult({"woven": args.threads}, "woven\\n")


Plugged = Command("some_loom", _arguments)
"""


@pytest.fixture
def plugins(tmp_path: Path) -> Iterator[Installed]:
    """A folder for distributions, on the import path."""
    with installed(tmp_path / "site") as folder:
        yield folder


def _add(plugins: Installed, name: str, source: str = _WEAVE, distribution: str = "some-loom") -> None:
    plugins.add(distribution, name, source, group="comind.commands")


def test_a_command_of_another_distribution_runs(
    plugins: Installed, capfd: pytest.CaptureFixture[str]
) -> None:
    """It is listed, suggested and run as one of ours."""
    _add(plugins, "weave")
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "weave     Weave so many threads." in capfd.readouterr().out
    assert main(["weave", "3", "--json"]) == 0
    assert capfd.readouterr().out == '{"woven": 3}\n'
    assert main(["weav", "3"]) == 2
    assert "did you mean weave?" in capfd.readouterr().err


def test_a_command_cannot_take_the_place_of_one_of_ours(
    plugins: Installed, capfd: pytest.CaptureFixture[str]
) -> None:
    """A distribution that declares `agents` changes nothing."""
    _add(plugins, "agents")
    assert main(["agents", "baseline"]) == 0
    assert "woven" not in capfd.readouterr().out


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("import nowhere_to_be_found", "cannot be loaded: ModuleNotFoundError: No module named"),
        ("Plugged = 3", "is no Command"),
    ],
)
def test_a_broken_command_is_one_line(
    plugins: Installed, capfd: pytest.CaptureFixture[str], source: str, line: str
) -> None:
    """The error and the list of commands name the distribution and the reason; other commands run."""
    _add(plugins, "weave", source)
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "weave     (the command 'weave' of some-loom 1.0 " in capfd.readouterr().out
    assert main(["weave"]) == 2
    [error] = capfd.readouterr().err.splitlines()
    assert error.startswith("comind: the command 'weave' of some-loom 1.0 ")
    assert line in error
    assert main(["agents", "baseline"]) == 0


_LACKS = "raise ModuleNotFoundError('no', name='soundfile')"


@pytest.mark.parametrize(
    "source", [_LACKS, _WEAVE.replace("return CommandResult", f"{_LACKS}\n    return CommandResult")]
)
def test_a_command_names_the_extra_that_it_lacks(
    plugins: Installed, capfd: pytest.CaptureFixture[str], source: str
) -> None:
    """A package of an extra is missing, on import or later: the line installs it, with exit code 4."""
    _add(plugins, "weave", source)
    assert main(["weave", "3"]) == 4
    assert "pip install 'comind-pipeline[audio]'" in capfd.readouterr().err
