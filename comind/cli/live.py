"""Serve past competitions with Kaggle's API, as of a time."""

import argparse
import json
import signal
import sys
from pathlib import Path

from comind.app.params import parse_as_of
from comind.app.paths import find_project
from comind.cli.command import CommandResult
from comind.community.store.as_of_store import CommunityStore
from comind.competitions.competition_folder import load_competition
from comind.demos.make import DEMOS, make_demo
from comind.errors import ComindError, UsageError
from comind.live.hosted import HostedCompetition, find_competition_folders
from comind.live.server import LiveServer
from comind.live.simulated_clock import SimulatedClock
from comind.live.submissions import SubmissionStore
from comind.live.world import LiveBudget, MLELive
from comind.system.plurals import quantity


def run(args: argparse.Namespace) -> CommandResult:
    """Run the command."""
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
    text = json.dumps(values) if args.json else _usage(server.port, len(hosted))
    print(text, file=args.stdout, flush=True)
    server.serve()
    return CommandResult(values=values, printed=True)


def _notes(hosted: list[HostedCompetition]) -> list[str]:
    """Return what is missing from the leaderboards."""
    boards = [(each.id, each.world.board()) for each in hosted]
    return [f"{name}: {board.message}" for name, board in boards if board.message]


def _hosted(args: argparse.Namespace, state: Path, clock: SimulatedClock) -> list[HostedCompetition]:
    if args.data is None:
        folders = [make_demo(name, state.parent / "demos") for name in sorted(DEMOS)]
    else:
        folders = find_competition_folders(Path(args.data))
    submissions = SubmissionStore(state)
    community = None if args.community is None else CommunityStore.open(Path(args.community).absolute())
    budget = LiveBudget(submissions_per_day=args.submissions)
    found: dict[str, HostedCompetition] = {}
    for folder in folders:
        try:
            competition = load_competition(folder)
            world = MLELive(
                competition, clock, budget, scores=args.scores, store=submissions, community=community
            )
            each = HostedCompetition(world, state / "archives")
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


def _clock(args: argparse.Namespace) -> SimulatedClock:
    start = parse_as_of(args.as_of)
    if start is None and args.speed is not None:
        raise UsageError("--speed goes with --as-of only", hint="name the time to begin at")
    return SimulatedClock(start, speed=args.speed or 0.0)


def _users(given: list[str] | None) -> dict[str, str] | None:
    if given is None:
        return None
    users = dict(each.partition(":")[::2] for each in given)
    if not all(name and key for name, key in users.items()):
        raise UsageError("--user: is not NAME:KEY")
    return users


def _usage(port: int, count: int) -> str:
    usage = f"serving {quantity(count, 'competition')} at http://localhost:{port}; Ctrl-C ends it\n"
    given = "KAGGLE_API_ENVIRONMENT=LOCALHOST KAGGLE_USERNAME=ann KAGGLE_KEY=any"
    if port == 80:  # noqa: PLR2004 - the port of HTTP
        return usage + f"the kaggle command: {given} kaggle competitions list"
    return usage + (
        f"the kaggle command needs --port 80: {given} kaggle competitions list; "
        "its library takes any port, see docs/mle-live.md"
    )
