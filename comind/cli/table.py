"""The table of commands: only the module of the named one is imported, once its arguments are read."""

import argparse
from collections.abc import Callable
from typing import NamedTuple

from comind.cli import arguments
from comind.errors import ComindError, UsageError
from comind.system.plug_ins import PLUG_IN_COMMANDS, declared, load_plug_in, origin


class Command(NamedTuple):
    """A command."""

    module: str
    """It has `run(args)`, and imports what it needs at its top, which takes seconds."""
    arguments: Callable[[argparse.ArgumentParser], None]
    """Declares the arguments, without such imports."""
    long: bool = False
    """Whether it always takes seconds, so that a line says at once that it begins."""

    @property
    def summary(self) -> str:
        """What it does, in one line."""
        return (self.arguments.__doc__ or "").partition("\n")[0]


COMMANDS = {
    "init": Command("comind.cli.init", arguments.init),
    "solve": Command("comind.cli.solve", arguments.solve, long=True),
    "inspect": Command("comind.cli.inspect_files", arguments.inspect, long=True),
    "grade": Command("comind.cli.grade", arguments.grade),
    "track": Command("comind.cli.track", arguments.track, long=True),
    "submit": Command("comind.cli.submit", arguments.submit, long=True),
    "ingest": Command("comind.cli.ingest", arguments.ingest, long=True),
    "knowledge": Command("comind.cli.knowledge", arguments.knowledge, long=True),
    "store": Command("comind.cli.store", arguments.store, long=True),
    "agents": Command("comind.cli.agents", arguments.agents),
    "prompts": Command("comind.cli.prompts", arguments.prompts, long=True),
    "show": Command("comind.cli.show", arguments.show),
    "report": Command("comind.cli.report", arguments.report),
    "bench": Command("comind.cli.bench", arguments.bench, long=True),
    "lineage": Command("comind.cli.lineage", arguments.lineage),
    "reproduce": Command("comind.cli.reproduce", arguments.reproduce, long=True),
    "repair": Command("comind.cli.repair", arguments.repair, long=True),
    "push": Command("comind.cli.push", arguments.push, long=True),
    "gc": Command("comind.cli.collect", arguments.gc, long=True),
    "live": Command("comind.cli.live", arguments.live),
    "doctor": Command("comind.cli.doctor", arguments.doctor),
    "ui": Command("comind.cli.ui", arguments.ui, long=True),
}


def all_commands() -> dict[str, Command]:
    """Return the commands, with those that other distributions declare, broken ones included."""
    return COMMANDS | {
        name: _declared_command(name) for name in declared(PLUG_IN_COMMANDS) if name not in COMMANDS
    }


def _declared_command(name: str) -> Command:
    """Load a command of a plug-in; its arguments raise the reason where it cannot be loaded."""
    try:
        loaded = load_plug_in(PLUG_IN_COMMANDS, name, "command")
        if not isinstance(loaded, Command):
            raise UsageError(f"the command {name!r} of {origin(PLUG_IN_COMMANDS, name)} is no Command")
    except ComindError as error:
        reason = error

        def fail(_parser: argparse.ArgumentParser) -> None:
            raise reason

        fail.__doc__ = f"({error})"
        return Command("", fail)
    return loaded
