"""The command `comind mlebench`: an entry point of the group `comind.commands`."""

import argparse

from comind.cli.argument_types import port
from comind.cli.table import Command

_PORT = 5000  # the port of MLE-bench's own server


def _arguments(parser: argparse.ArgumentParser) -> None:
    """List MLE-bench's competitions, adapt one, or serve /validate for it."""
    actions = parser.add_subparsers(title="actions", required=True, metavar="ACTION", dest="action")
    about = "List the competitions with their metrics and known issues."
    _add_json(actions.add_parser("list", help=about, description=about))
    about = "Make a competition folder of a prepared one."
    adapt = actions.add_parser("adapt", help=about, description=about)
    _add_prepared(adapt)
    adapt.add_argument("--out", metavar="DIR", help="parent of the new folder; default: this one")
    _add_json(adapt)
    about = "Serve /validate, which responds whether a submission is valid."
    validate = actions.add_parser("validate", help=about, description=about)
    _add_prepared(validate)
    add = validate.add_argument
    add("--port", type=port, default=_PORT, metavar="N", help="default %(default)s")
    add(
        "--mode",
        choices=("kaggle", "mlebench"),
        default="mlebench",
        help="rules of Kaggle or of MLE-bench (default)",
    )
    _add_json(validate)


def _add_prepared(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prepared", metavar="PREPARED", help="a folder DIR/ID with prepared/")


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")


MLEBENCH = Command("comind.mlebench.command_line", _arguments)
