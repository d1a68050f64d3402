"""The parser of arguments, and the refusal of those that a mode of a command would ignore."""

import argparse
from collections.abc import Iterable
from typing import Any, NoReturn

from comind.domain.suggestions import did_you_mean
from comind.errors import UsageError

_OF_EVERY_MODE = {"out", "json", "log_level"}


class Parser(argparse.ArgumentParser):
    """Raises UsageError on bad usage, so that it is printed as one line, or as JSON.

    What it returns has `named`: the arguments of the command that were given, by destination.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **settings})

    def error(self, message: str) -> NoReturn:
        """Raise UsageError."""
        raise UsageError(message, hint=f"see {self.prog} --help")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse arguments; one that this command does not have is an error here, not in its parent."""
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            flag = next((each for each in unknown if each.startswith("--")), "").partition("=")[0]
            meant = did_you_mean(flag, self._option_string_actions)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{meant}")
        if not hasattr(parsed, "named"):  # a parser of a subcommand ends before its parent
            parsed.named = self._named(args, parsed)
        return parsed, []

    def _named(self, given: Iterable[str], parsed: argparse.Namespace) -> dict[str, str]:
        options = {word.partition("=")[0] for word in given}
        found = {}
        for action in self._actions:
            if not action.option_strings:
                if getattr(parsed, action.dest, action.default) not in (action.default, []):
                    found[action.dest] = str(action.metavar)
            elif flags := [each for each in action.option_strings if each in options]:
                found[action.dest] = flags[0]
        return found


def refuse(args: argparse.Namespace, where: str, *unused: str) -> None:
    """Raise UsageError if one of the `unused` was given, which has no effect in this mode."""
    for name in unused:
        if name in args.named:
            raise UsageError(f"{args.named[name]}: has no effect {where}")


def refuse_all_but(args: argparse.Namespace, where: str, *used: str) -> None:
    """Raise UsageError if anything was given that a mode of the command does not use."""
    refuse(args, where, *(name for name in args.named if name not in _OF_EVERY_MODE.union(used)))
