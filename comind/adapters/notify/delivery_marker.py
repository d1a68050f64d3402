"""Keep the number of the last event of a log whose alert was delivered."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from comind.eventlog.log import Record
from comind.system.files import write_atomically

__all__ = ["DeliveryMarker", "failure_line"]

_ERROR_LENGTH = 300


class DeliveryMarker:
    """A file with the number, written atomically."""

    def __init__(self, path: Path) -> None:
        """Use the file `path`, which need not exist."""
        self._path = path

    def start(self, records: Iterable[Record[Any]]) -> int:
        """Return the number; without a file, that of the last of `records`, which is written."""
        try:
            return int(json.loads(self._path.read_text())["after"])
        except (OSError, ValueError, KeyError, TypeError):
            last = max((record.seq for record in records), default=-1)
            self.write(last)
            return last

    def write(self, seq: int) -> None:
        """Write the number of an event."""
        write_atomically(self._path, json.dumps({"after": seq}) + "\n")


def failure_line(error: Exception) -> str:
    """Return kind and message of an error in one line of at most 300 characters of message."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:_ERROR_LENGTH]}"
