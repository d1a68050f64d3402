"""The command `comind mlebench`: an entry point of the group `comind.commands`."""

import argparse

from comind.cli.argument_types import port
from comind.cli.table import Command

_PORT = 5000  # the port of MLE-bench's own server


def _arguments(parser: argparse.ArgumentParser) -> None:
    """List MLE-bench's competitions, adapt one, or serve /validate for it."""
    add = parser.add_argument
    add("action", choices=("list", "adapt", "validate"), metavar="list|adapt|validate")
    add("prepared", nargs="?", metavar="PREPARED", help="a folder DIR/ID with prepared/")
    add("--out", metavar="DIR", help="adapt: parent of the new competition folder")
    add("--port", type=port, default=_PORT, metavar="N", help="validate: default %(default)s")
    add(
        "--mode",
        choices=("kaggle", "mlebench"),
        default="mlebench",
        help="validate: rules of Kaggle or of MLE-bench (default)",
    )
    add("--json", action="store_true", help="print one JSON object on stdout")


MLEBENCH = Command("comind.mlebench.command_line", _arguments)
