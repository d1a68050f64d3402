"""The entry point `comind`: parse arguments, run a command, print its result, return the exit code.

Only the module of the named command is imported, and that after its arguments are read, so help and
errors of usage are instant.
"""

import argparse
import contextlib
import json
import logging
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NoReturn, TextIO

from comind import __version__
from comind.app.log_settings import DEFAULT_LEVEL, LEVELS, configure_logging
from comind.app.terminal.long_steps import show_long_steps
from comind.cli import command
from comind.cli.command import CommandResult
from comind.cli.parsing import Parser
from comind.cli.table import COMMANDS, all_commands
from comind.domain.suggestions import did_you_mean
from comind.errors import ComindError, ServiceError
from comind.servers.tool_settings import quieten_tools
from comind.system.disk import full_disk
from comind.system.extras import missing_extra
from comind.system.progress import step
from comind.system.redaction import redact

_EXIT_SECONDS = 10.0  # more than marking the runs takes
_stopping = False
_SHOW_CURSOR = b"\n\x1b[?25h"
_log = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        The exit code: 0 success, 2 usage, 3 no submission, 4 service.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    _stop_on_signals()
    try:
        parsed = parse(arguments)
    except ComindError as error:
        return _print(CommandResult.failure(error), sys.stdout, as_json="--json" in arguments)
    configure_logging(parsed.log_level or DEFAULT_LEVEL)
    _log.info("comind %s: %s", __version__, shlex.join(arguments))
    with _ReservedStdout() as stdout:
        parsed.stdout = stdout
        with show_long_steps():
            result = _run(parsed)
        code = _print(result, stdout, as_json=getattr(parsed, "json", False))
    server = sys.modules.get("comind.servers.tool_servers")
    if server is not None and server.ended_early:
        print("Prefect's server ended meanwhile; the logs are whole", file=sys.stderr, flush=True)
        # Threads of Prefect's client would block the exit; child processes end with this one.
        os._exit(code)
    return code


def _run(parsed: argparse.Namespace) -> CommandResult:
    try:
        try:
            result: CommandResult = _imported(parsed)(parsed)
        finally:
            _await_exit()
    except ComindError as error:
        return CommandResult.failure(error)
    except Exception as error:  # noqa: BLE001 - any other exception is a bug, reported as such
        if known := _known_cause(error):
            return CommandResult.failure(known)
        _log.exception("a bug in CoMind")
        return CommandResult.failure(ComindError(redact(f"a bug in CoMind: {error!r}")))
    return result


def _imported(parsed: argparse.Namespace) -> Callable[[argparse.Namespace], CommandResult]:
    """Import what the command needs, and return the function that runs it.

    That takes seconds on a busy machine, so a line says first which command begins: on a terminal, and
    elsewhere if the command itself always takes seconds.
    """
    quieten_tools()
    entry = COMMANDS.get(parsed.command) or all_commands()[parsed.command]
    begins = step(f"comind {parsed.command}: starting")
    with begins if entry.long or sys.stderr.isatty() else contextlib.nullcontext():
        run: Callable[[argparse.Namespace], CommandResult] = import_module(entry.module).run
    return run


def _known_cause(error: Exception) -> ComindError | None:
    """Return the error of a full disk, or of a package that is in an extra; None for a bug."""
    missing = missing_extra(error) if isinstance(error, ImportError) else None
    return missing or full_disk(error, Path.cwd(), "its files")


def _print(result: CommandResult, stdout: TextIO, *, as_json: bool) -> int:
    """Print a result to stdout and its error to stderr; returns the exit code."""
    if result.error is not None:
        print(f"comind: {result.error}", file=sys.stderr)
        if result.error.hint:
            print(f"        {result.error.hint}", file=sys.stderr)
        if isinstance(result.error, ServiceError) and command.resume_with:
            print(f"        resume with: {command.resume_with}", file=sys.stderr)
    if not result.printed:
        stdout.write(json.dumps(result.values) + "\n" if as_json else result.text)
    return result.exit_code


def parse(arguments: list[str]) -> argparse.Namespace:
    """Parse arguments; nothing that takes long is imported.

    Raises:
        ComindError: there is no such command, it cannot be loaded, or its arguments are wrong.
    """
    parser = Parser(
        prog="comind",
        description="A community of agents that solves machine-learning competitions.",
    )
    parser.add_argument("--version", action="version", version=f"comind {__version__}")
    named = next((each for each in arguments if not each.startswith("-")), None)
    known = COMMANDS if named in COMMANDS else all_commands()
    if named is not None and named not in known:
        parser.error(f"there is no command {named!r}{did_you_mean(named, known)}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    for name, entry in known.items():
        about = entry.summary
        added = commands.add_parser(name, help=about, description=about)
        if name == named:
            entry.arguments(added)
            add_log_options(added)
    parsed = parser.parse_args(arguments)
    if named is None:
        parser.error("no command is named, such as solve in: comind solve COMPETITION")
    if check := getattr(parsed, "check", None):
        check(parsed)
    return parsed


def add_log_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of logging, which every command has, in a command or in its subcommands."""
    actions = parser._actions  # noqa: SLF001 - there is no other way to the parsers of subcommands
    nested = [each for each in actions if isinstance(each, argparse._SubParsersAction)]  # noqa: SLF001
    for added in (sub for each in nested for sub in each.choices.values()):
        add_log_options(added)
    if not nested:
        add = parser.add_mutually_exclusive_group().add_argument
        add("--log-level", choices=LEVELS, help=f"what is logged to stderr; default {DEFAULT_LEVEL}")
        add("--verbose", dest="log_level", action="store_const", const="info", help="--log-level info")


class _ReservedStdout:
    """Reserves stdout for the command's result: within the block, all other output goes to stderr."""

    def __enter__(self) -> TextIO:
        sys.stdout.flush()
        self._descriptor = os.dup(1)
        os.dup2(2, 1)
        self._file = os.fdopen(self._descriptor, "w", encoding="utf-8", closefd=False)
        return self._file

    def __exit__(self, *_: object) -> None:
        sys.stdout.flush()
        self._file.flush()
        os.dup2(self._descriptor, 1)
        os.close(self._descriptor)


def _stop_on_signals() -> None:
    """End on Ctrl-C, on a request, and when the terminal is closed, unless `nohup` ignores that."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)


def _stop(number: int, _frame: object) -> None:
    """Mark the runs as stopped, for some seconds, and exit; a second signal exits at once.

    The logs hold all state, and child processes end with this one.
    """
    global _stopping
    if _stopping:
        _exit(number)
    _stopping, marking = True, False
    try:
        with contextlib.suppress(Exception):  # stderr may be closed, or locked in the middle of a write
            if command.resume_with:
                line = f"\ncomind: stopped; resume with: {command.resume_with}"
                print(line, file=sys.stderr, flush=True)
        if stopping := sys.modules.get("comind.servers.stopping"):
            marking = stopping.mark_stopped(partial(_exit, number))
    finally:
        if not marking:
            _exit(number)


def _exit(number: int) -> NoReturn:
    """End this process by a signal, below a table that is shown, with the cursor that it hides."""
    try:
        if os.isatty(2):
            os.write(2, _SHOW_CURSOR)
    finally:
        os._exit(128 + number)


def _await_exit() -> None:
    """Wait where a signal is ending this process: what it interrupts is no result."""
    if _stopping:
        time.sleep(_EXIT_SECONDS)
