"""Helpers: a replayed competition of twenty rows, and a client of its routes."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from comind.competitions.competition_folder import load_competition
from comind.live.fault_injection import FaultInjector
from comind.live.hosted import HostedCompetition
from comind.live.kaggle_types import parse_request
from comind.live.router import REQUEST_TYPES, handle
from comind.live.routes import Catalog, FileLink, RequestContext, RouteResponse, resolve_link
from comind.live.uploads import Uploads
from comind.live.world import MLELive
from tests.unit.competitions.folders import competition_folder

SECRET = "nobody-may-read-this"
"""A value in a column of the answers, which no response may contain."""

NOON = datetime(2023, 4, 1, 12, tzinfo=UTC)
ROUTES = {name.split("/")[1]: name for name in REQUEST_TYPES}
"""Every route by the short name of its method."""


def world_folder(root: Path, **changes: Any) -> Path:
    """Write a competition that is scored by accuracy; its answers contain a secret."""
    folder = competition_folder(root, **({"deadline": "2023-04-30T23:59:00Z"} | changes))
    answers = folder / "private" / "answers.csv"
    first, *rows = answers.read_text().splitlines()
    answers.write_text("\n".join([f"{first},secret", *[f"{row},{SECRET}" for row in rows]]) + "\n")
    return folder


def leaderboard(folder: Path, name: str, *lines: str) -> None:
    """Write a leaderboard file."""
    (folder / "leaderboard").mkdir(exist_ok=True)
    (folder / "leaderboard" / name).write_text("\n".join(lines) + "\n")


def open_world(folder: Path, *more: Any, **options: Any) -> MLELive:
    """Replay the competition in a folder."""
    return MLELive(load_competition(folder), *more, **options)


def submission(folder: Path, name: str = "mine.csv", *, right: int = 10) -> Path:
    """Write a submission of ten rows with this many correct."""
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
    """Call routes as one user, without HTTP."""

    def __init__(
        self, hosted: list[HostedCompetition], user: str = "ann", faults: FaultInjector | None = None
    ) -> None:
        self.uploads = Uploads()
        self.catalog = Catalog(
            {each.id: each for each in hosted},
            faults or FaultInjector(),
            self.uploads,
            lambda h, ref: h.world.grade(ref),
        )
        self.context = RequestContext(self.catalog, user, "http://here", repr)

    def ask(self, route: str, **body: Any) -> RouteResponse:
        """Return the response to a body in the client's JSON."""
        name = ROUTES[route]
        return handle(name, parse_request(REQUEST_TYPES[name], body), self.context)

    def fetch(self, ticket: FileLink) -> bytes:
        """Return the bytes of a file."""
        path, _ = resolve_link(self.catalog, ticket, self.context.user)
        return path.read_bytes()
