"""Read the arguments, run the command, print what came of it, return the exit code.

Nothing heavy is imported here or by the modules that declare arguments: `comind --help` is instant.
"""

import argparse
import json
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn, TextIO

from comind import __version__
from comind.errors import ComindError, UsageError
from flows.cli import (
    agents,
    bench,
    collect,
    doctor,
    grade,
    ingest,
    lineage,
    live,
    push,
    repair,
    report,
    reproduce,
    solve,
    track,
    ui,
)
from flows.cli.command import CommandError, CommandResult

__all__ = ["main"]

_COMMANDS = {
    "solve": solve,
    "grade": grade,
    "track": track,
    "ingest": ingest,
    "agents": agents,
    "report": report,
    "bench": bench,
    "lineage": lineage,
    "reproduce": reproduce,
    "repair": repair,
    "push": push,
    "gc": collect,
    "live": live,
    "doctor": doctor,
    "ui": ui,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (0 success, 2 usage, 3 no submission, 4 service)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    try:
        parsed = _parser().parse_args(arguments)
    except UsageError as error:
        return _tell(CommandResult.failure(error), sys.stdout, as_json="--json" in arguments)
    with _StdoutKept() as stdout:
        parsed.stdout = stdout
        code = _tell(_run(parsed), stdout, as_json=getattr(parsed, "json", False))
    server = sys.modules.get("flows.server")
    if server is not None and server.ended_early:
        print("Prefect's server ended meanwhile; the logs are whole", file=sys.stderr, flush=True)
        os._exit(code)  # the threads of Prefect's client would keep us; what we started ends with us
    return code


def _run(parsed: argparse.Namespace) -> CommandResult:
    try:
        answer: CommandResult = parsed.run(parsed)
    except CommandError as error:
        return error.answer
    except ComindError as error:
        return CommandResult.failure(error)
    except Exception as error:  # noqa: BLE001 - the last line of defence
        traceback.print_exc()
        return CommandResult.failure(ComindError(f"a fault of CoMind's own: {error!r}"))
    return answer


def _tell(answer: CommandResult, stdout: TextIO, *, as_json: bool) -> int:
    """Print an answer: what it is on stdout, what is wrong on stderr."""
    if answer.error is not None:
        print(f"comind: {answer.error}", file=sys.stderr)
        if answer.error.hint:
            print(f"        {answer.error.hint}", file=sys.stderr)
    if not answer.told:
        stdout.write(json.dumps(answer.values) + "\n" if as_json else answer.text)
    return answer.exit_code


class _Parser(argparse.ArgumentParser):
    """Reports bad usage as our own error, so that it is one line, or JSON where that is wanted."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"see {self.prog} --help")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="comind",
        description="A community of agents that solves machine-learning competitions.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"comind {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, module in _COMMANDS.items():
        command = commands.add_parser(
            name, help=module.SUMMARY, description=module.SUMMARY, allow_abbrev=False
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


class _StdoutKept:
    """Keeps stdout for the command's answer: whatever else is printed meanwhile goes to stderr."""

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


def _stop(number: int, _frame: object) -> NoReturn:
    """End at once: everything is in the logs, and what we started ends with us."""
    try:
        if solve.running is not None:
            print(
                f"\ncomind: stopped; go on with: comind solve --resume {solve.running}", file=sys.stderr
            )
    finally:  # whoever read stderr may be gone, or be in the middle of a line
        os._exit(128 + number)
