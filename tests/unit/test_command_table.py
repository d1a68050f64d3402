"""Tests of the table of commands."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from comind.cli.main import main
from comind.cli.table import COMMANDS

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


@pytest.mark.parametrize("call", ["--help", "lineage --help", "lineage --mermad x", "live srve"])
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


def test_no_command_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a command there is one line, which names an example, and exit code 2."""
    assert main([]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "comind: no command is named, such as solve in: comind solve COMPETITION",
        "        see comind --help",
    ]
