"""Small worlds for the tests: a competition of twenty rows, with what the test needs around it."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from comind.evaluation.competition_folder import load_competition
from comind.live.catalogue import Hosted
from comind.live.dispatch import REQUESTS, Dispatch
from comind.live.faults import Faults
from comind.live.routes import Answer, Asker, Shown, Ticket, resolve
from comind.live.uploads import Uploads
from comind.live.wire import read_request
from comind.live.world import MLELive
from tests.unit.evaluation.folders import competition_folder

SECRET = "nobody-may-read-this"
"""Stands in the file of answers, in a column of its own."""

NOON = datetime(2023, 4, 1, 12, tzinfo=UTC)
ROUTES = {name.split("/")[1]: name for name in REQUESTS}
"""Every route by the short name of its method."""


def world_folder(root: Path, **changes: Any) -> Path:
    """Write a competition that is scored by accuracy; its answers carry a secret."""
    folder = competition_folder(root, **({"deadline": "2023-04-30T23:59:00Z"} | changes))
    answers = folder / "private" / "answers.csv"
    first, *rows = answers.read_text().splitlines()
    answers.write_text("\n".join([f"{first},secret", *[f"{row},{SECRET}" for row in rows]]) + "\n")
    return folder


def leaderboard(folder: Path, name: str, *lines: str) -> None:
    """Write one of the leaderboard's files."""
    (folder / "leaderboard").mkdir(exist_ok=True)
    (folder / "leaderboard" / name).write_text("\n".join(lines) + "\n")


def open_world(folder: Path, *more: Any, **options: Any) -> MLELive:
    """Open the world of a folder."""
    return MLELive(load_competition(folder), *more, **options)


def submission(folder: Path, name: str = "mine.csv", *, right: int = 10) -> Path:
    """Write a submission of ten rows, of which so many are right."""
    first, *rows = (folder / "private" / "answers.csv").read_text().splitlines()
    lines = [",".join(first.split(",")[:2])]
    for place, row in enumerate(rows):
        identity, label, *_ = row.split(",")
        wrong = "no" if label == "yes" else "yes"
        lines.append(f"{identity},{label if place < right else wrong}")
    path = folder.parent / name
    path.write_text("\n".join(lines) + "\n")
    return path


class Client:
    """Asks the routes of some worlds as one user, without HTTP between."""

    def __init__(self, hosted: list[Hosted], user: str = "ann", faults: Faults | None = None) -> None:
        self.shown = Shown({each.id: each for each in hosted}, faults or Faults())
        self.uploads = Uploads()
        self.dispatch = Dispatch(self.shown, self.uploads, lambda h, ref: h.world.grade(ref) and None)
        self.asker = Asker(user, "http://here", repr)

    def ask(self, route: str, **body: Any) -> Answer:
        """Return what a route answers to a body in the client's spelling."""
        name = ROUTES[route]
        return self.dispatch.answer(name, read_request(REQUESTS[name], body), self.asker)

    def fetch(self, ticket: Ticket) -> bytes:
        """Return the bytes of a file."""
        path, _ = resolve(self.shown, ticket, self.asker.user)
        return path.read_bytes()
