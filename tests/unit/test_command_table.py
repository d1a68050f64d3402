"""Tests of the table of commands."""

import subprocess
import sys
from importlib import import_module

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


def test_help_imports_no_command() -> None:
    """The list of commands is printed from the table alone."""
    assert _imported("--help") == set()


def test_only_the_named_command_is_imported() -> None:
    """The help of a command imports its own module, and that of no other command."""
    assert _imported("lineage", "--help") == {"comind.cli.lineage"}


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each module of the table declares arguments; its help begins with what the command does."""
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    about = (import_module(COMMANDS[name].module).__doc__ or "").partition("\n")[0]
    assert about in " ".join(capsys.readouterr().out.split())


def test_no_command_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a command there is one line, which names an example, and exit code 2."""
    assert main([]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "comind: no command is named, such as solve in: comind solve COMPETITION",
        "        see comind --help",
    ]
