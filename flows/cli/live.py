"""`comind live serve`: MLE-Live's server, which the official Kaggle client can be pointed at."""

import argparse
import json
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from comind.errors import UsageError
from flows.cli.answer import Answer
from flows.cli.places import add_place, find_project

if TYPE_CHECKING:
    from comind.live.catalogue import Hosted
    from comind.live.clock import Clock

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "Live through past competitions: serve them as Kaggle would, as of a time."

_PORT = 7777  # where the client's library looks in its test environment


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    actions = parser.add_subparsers(title="actions", required=True, metavar="ACTION")
    serve = actions.add_parser("serve", help=SUMMARY, description=SUMMARY, allow_abbrev=False)
    serve.add_argument(
        "--port",
        type=int,
        default=_PORT,
        metavar="N",
        help=f"default {_PORT}; the unmodified kaggle command wants 80; 0 is any free one",
    )
    serve.add_argument("--host", default="127.0.0.1", help="address to listen at; default 127.0.0.1")
    serve.add_argument("--data", metavar="DIR", help="competition folders; without it, the demos")
    serve.add_argument(
        "--community", metavar="STORE", help="a store of `comind ingest`, in place of each one's own"
    )
    serve.add_argument(
        "--as-of", metavar="TIME", help="nothing later is visible; the clock stands there"
    )
    serve.add_argument(
        "--speed", type=float, metavar="X", help="seconds of the world in a real one; 86400 is a day"
    )
    serve.add_argument(
        "--scores",
        choices=("sealed", "public"),
        default="sealed",
        help="tell no score before the end (default), or the one on the public rows, as Kaggle does",
    )
    serve.add_argument(
        "--submissions", type=int, default=5, metavar="N", help="how many a day; default 5"
    )
    serve.add_argument(
        "--user",
        action="append",
        metavar="NAME:KEY",
        help="let in this user, and only those named so; without it anybody",
    )
    add_place(serve, "project folder; submissions and the request log are kept in data/live")


def run(args: argparse.Namespace) -> Answer:
    """Say where the server is, and answer until we are stopped."""
    from comind.live.server import LiveServer

    _check(args)
    users, clock = _users(args.user), _clock(args)
    state = find_project(args.out) / "data" / "live"
    hosted = _hosted(args, state, clock)
    log = state / "requests.jsonl"
    server = LiveServer(hosted, port=args.port, host=args.host, users=users, log=log)
    notes = _notes(hosted)
    values = {
        "url": server.url,
        "port": server.port,
        "competitions": [each.id for each in hosted],
        "state": str(state),
        "notes": notes,
    }
    for note in notes:
        print(f"comind: note: {note}", file=sys.stderr)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.stop())
    told = json.dumps(values) if args.json else _told(server.port, len(hosted))
    print(told, file=args.stdout, flush=True)
    server.serve()
    return Answer(values=values, told=True)


def _check(args: argparse.Namespace) -> None:
    if not 0 <= args.port < 1 << 16:
        raise UsageError(f"--port: {args.port} is not a port")
    if args.submissions < 0:
        raise UsageError(f"--submissions: {args.submissions} is no number of submissions")


def _notes(hosted: "list[Hosted]") -> list[str]:
    """Return what is not known of the leaderboards."""
    boards = [(each.id, each.world.board()) for each in hosted]
    return [f"{name}: {board.message}" for name, board in boards if board.message]


def _hosted(args: argparse.Namespace, state: Path, clock: "Clock") -> "list[Hosted]":
    from comind.community.store.reading import CommunityStore
    from comind.errors import ComindError
    from comind.evaluation.competition_folder import load_competition
    from comind.evaluation.demos.make import DEMOS, make_demo
    from comind.live.catalogue import Hosted, competition_folders
    from comind.live.community import StoreCommunity
    from comind.live.submissions import SubmissionBook
    from comind.live.world import LiveBudget, MLELive

    if args.data is None:
        folders = [make_demo(name, state.parent / "demos") for name in sorted(DEMOS)]
    else:
        folders = competition_folders(Path(args.data))
    book = SubmissionBook(state)
    store = None if args.community is None else CommunityStore.open(Path(args.community).absolute())
    budget = LiveBudget(submissions_per_day=args.submissions)
    found: dict[str, Hosted] = {}
    for folder in folders:
        try:
            competition = load_competition(folder)
            world = MLELive(
                competition,
                clock,
                budget,
                scores=args.scores,
                book=book,
                community=None if store is None else StoreCommunity(store, competition.id),
            )
            each = Hosted(world, state / "archives")
        except ComindError as error:
            if len(folders) == 1:
                raise
            print(f"comind: left out: {error}", file=sys.stderr)
            continue
        if each.id in found:
            raise UsageError(f"{folder}: {each.id} is the name of another competition there, too")
        found[each.id] = each
    if not found:
        raise UsageError(f"{args.data}: no competition in it can be served")
    return list(found.values())


def _clock(args: argparse.Namespace) -> "Clock":
    from comind.live.clock import Clock
    from flows.moments import moment_of

    if args.as_of is None:
        if args.speed is not None:
            raise UsageError("--speed goes with --as-of only", hint="name the time to begin at")
        return Clock()
    return Clock(moment_of(args.as_of), speed=args.speed or 0.0)


def _users(given: list[str] | None) -> dict[str, str] | None:
    if given is None:
        return None
    users = dict(each.partition(":")[::2] for each in given)
    if not all(name and key for name, key in users.items()):
        raise UsageError("--user: is not NAME:KEY")
    return users


def _told(port: int, count: int) -> str:
    told = f"serving {count} competitions at http://localhost:{port}; Ctrl-C ends it\n"
    if port == 80:  # noqa: PLR2004 - the port of HTTP
        return told + "the kaggle command: KAGGLE_API_ENVIRONMENT=LOCALHOST kaggle competitions list"
    return told + (
        "the kaggle command needs --port 80 and KAGGLE_API_ENVIRONMENT=LOCALHOST; "
        "its library takes any port, see docs/mle-live.md"
    )
