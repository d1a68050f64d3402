"""Check arguments of a command that are wrong in a way that only several of them together show."""

import argparse
from types import ModuleType

from comind.app.paths import refuse_missing_path
from comind.cli.parsing import refuse, refuse_all_but
from comind.domain.suggestions import did_you_mean
from comind.errors import UsageError

_SHORTEST, _LONGEST = 0.001, 8760  # hours: some seconds, and a year


def campaign_settings() -> ModuleType:
    """Import the settings of campaigns: with pydantic that is half of the time of `comind --help`."""
    from comind.cli import settings_options

    return settings_options


def check_solve(args: argparse.Namespace) -> None:
    """Raise UsageError where arguments are wrong in a way that only all together show."""
    if (args.competition is None) == (args.resume is None):
        raise UsageError("name a COMPETITION, or --resume CAMPAIGN", hint="see comind solve --help")
    given = campaign_settings().settings_given(args)
    if args.resume:
        campaign_settings().refuse_fixed(args, given)
    else:
        check_competition(args)


def check_competition(args: argparse.Namespace) -> None:
    """Raise UsageError where a competition is named by a path that is not there."""
    refuse_missing_path(args.competition)


def check_build(args: argparse.Namespace) -> None:
    """Raise UsageError for options about a community that is not named."""
    if not args.community:
        refuse(args, "without --community", "competition", "most")


def check_store_add(args: argparse.Namespace) -> None:
    """Raise UsageError unless models are named, or a kind of task."""
    if bool(args.names) == (args.recommended is not None):
        raise UsageError("name models, or --recommended KIND", hint="comind store list shows both")
    if args.recommended is None:
        return
    from comind.session.pretrained import KINDS

    if args.recommended not in KINDS:
        meant = did_you_mean(args.recommended, KINDS)
        raise UsageError(
            f"--recommended: {args.recommended!r} is no kind of task{meant}",
            hint=f"one of {', '.join(KINDS)}",
        )


def check_report(args: argparse.Namespace) -> None:
    """Raise UsageError for options that the page, or the grades, have no use for."""
    if args.html is not None:
        refuse_all_but(args, "with --html", "runs", "html")
    if not args.data:
        refuse(args, "without --data", "mode")


def check_ingest(args: argparse.Namespace) -> None:
    """Raise UsageError where what is fetched from Kaggle would not be taken."""
    if args.kaggle:
        refuse(args, "with --kaggle", "folder", "listing", "meta_kaggle")


def check_track(args: argparse.Namespace) -> None:
    """Raise UsageError where options have no effect, or make no schedule."""
    if args.status:
        refuse_all_but(args, "with --status", "status", "slug", "html")
    if args.submit == "never":
        refuse(args, "without --submit ask or auto", "max_submissions")
    if args.html and not (args.status and args.slug):
        raise UsageError(
            "--html: writes the status of one competition", hint="--status SLUG --html FILE"
        )
    if args.slug is None and not args.status:
        raise UsageError("which competition? name it, or show all with --status")
    if args.once and (args.every is not None or args.runs is not None):
        raise UsageError("--once makes one run now, so --every and --runs mean nothing")
    if args.every is not None and not _SHORTEST <= args.every <= _LONGEST:
        raise UsageError(
            f"--every: {args.every:g} hours are no interval", hint=f"{_SHORTEST:g} to {_LONGEST} hours"
        )
    campaign_settings().settings_given(args)
