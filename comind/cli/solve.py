"""Solve a competition: a tracked, versioned, resumable campaign that ends with a submission."""

import argparse
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from comind.app.paths import find_or_fetch_competition, find_project
from comind.cli import command
from comind.cli.argument_types import (
    assignment,
    non_negative_float,
    non_negative_int,
    non_negative_int_or_auto,
    positive_float,
    positive_int,
)
from comind.cli.command import CommandResult, add_project_options
from comind.errors import ComindError, NoSubmissionError, UsageError

if TYPE_CHECKING:
    from comind.campaign.log.campaign_folders import CampaignFolder

__all__ = ["add_arguments", "add_campaign_options", "solve_overrides"]

_ADVICE = """
  no model    a language model (OPENAI_API_KEY, --model) would read the description and what others
              published, and write features and models for this data; the baseline does neither
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments; their defaults are those of params.yaml."""
    add = parser.add_argument
    add("competition", nargs="?", metavar="COMPETITION", help="a folder, a zip, a demo or a Kaggle slug")
    add("--describe", metavar="TEXT", help="the description of a download without one")
    add("--resume", metavar="CAMPAIGN", help="resume a campaign")
    add("--agent", metavar="NAME", help="an agent of the list of `comind agents`")
    add(
        "--set",
        action="append",
        type=assignment,
        metavar="NAME=VALUE",
        help="a parameter of the agent (repeatable)",
    )
    add_campaign_options(parser)
    add("--iterations", type=non_negative_int, metavar="N", help="rounds of ideation")
    add("--minutes", type=positive_float, metavar="M", help="time budget")
    add("--max-usd", type=non_negative_float, metavar="X", help="cost budget")
    add("--max-tokens", type=non_negative_int, metavar="N", help="token budget")
    add("--seed", type=int, metavar="S", help="random seed of the campaign")
    switch = argparse.BooleanOptionalAction
    add("--baseline", action=switch, help="run the baseline as attempt 0")
    add("--refit", action=switch, help="refit the final pick on all labelled rows")
    add("--blend", action=switch, help="average submissions where that scores better")
    add(
        "--folds",
        type=non_negative_int_or_auto,
        metavar="N|auto",
        help="further folds for the best scripts",
    )
    add("--pick", choices=("best", "simplest"), help="rule of the final choice")
    add("--ensemble", action=switch, help="let agents ensemble earlier attempts")
    add("--monitor", action=switch, help="let a model stop failing cells early")
    add("--prove", action=switch, help="run published scripts again at the end")
    add("--push", action=switch, help="push data and ref to the remotes at the end")
    add("--community", metavar="DIR|none", help="a community folder or store, or none")
    add(
        "--as-of",
        metavar="TIME",
        help="ignore what was published later; default: the deadline of a past competition; or none",
    )
    add_project_options(parser)
    parser.set_defaults(run=_run)


def add_campaign_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of campaigns that `solve` and `track` share."""
    add = parser.add_argument
    add("--model", help="a model at the endpoint; offline: the baseline alone")
    add("--coders", type=positive_int, metavar="N", help="concurrent attempts")
    add("--cores", type=positive_int, metavar="N", help="cores that attempts share; default all")
    add("--steps", type=positive_int, metavar="N", help="cells per attempt")
    add(
        "--sandbox",
        choices=("auto", "docker", "bubblewrap", "process"),
        help="where model-written code runs; process isolates nothing",
    )
    add("--pool", metavar="NAME", help="run sessions on the nodes of a Prefect work pool")
    add("--profile", metavar="NAME", help="a profile of params.yaml, e.g. quick")


def _run(args: argparse.Namespace) -> CommandResult:
    if (args.competition is None) == (args.resume is None):
        raise UsageError("name a COMPETITION, or --resume CAMPAIGN", hint="see comind solve --help")
    if args.resume and args.set:
        raise UsageError("--set: the parameters of a campaign stay as they were when it was started")
    project = find_project(args.out)
    folder = _folder_of(args, project)
    where = f" --out {shlex.quote(args.out)}" if args.out else ""
    command.resume_with = f"comind solve --resume {folder.name}{where}"
    from comind.app.result import result_of
    from comind.cli.in_process import run_campaign

    try:
        run_campaign(project, folder)
    except ComindError as error:
        return CommandResult.failure(error, result_of(project, folder))
    result = result_of(project, folder)
    if result["submission"] is None:
        nothing = NoSubmissionError("no attempt has a valid submission", hint=f"see {folder.root}")
        return CommandResult.failure(nothing, result)
    return CommandResult(values=result, text=_summary(result, project, args.competition or ""))


def _folder_of(args: argparse.Namespace, project: Path) -> "CampaignFolder":
    """Open a new campaign, or resume one."""
    if args.resume:
        from comind.app.campaign_opening import resume_campaign

        seconds = None if args.minutes is None else 60 * args.minutes
        limits = {"seconds": seconds, "usd": args.max_usd, "tokens": args.max_tokens}
        return resume_campaign(project, args.resume, limits, _print)
    from comind.app.projects import refuse_shared_folder
    from comind.app.terminal.long_steps import show_long_steps

    refuse_shared_folder(project)
    with show_long_steps():
        competition = find_or_fetch_competition(args.competition, project, args.describe or "")
        from comind.app.campaign_opening import open_campaign

        overrides = solve_overrides(args) | ({"set": dict(args.set)} if args.set else {})
        return open_campaign(project, competition, overrides, args.profile, _print)


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def solve_overrides(args: argparse.Namespace) -> dict[str, Any]:
    """Return the values of the command line that override `solve` of params.yaml."""
    from comind.app.params import SolveParams

    return {
        name: value
        for name, value in vars(args).items()
        if value is not None and name in SolveParams.model_fields
    }


def _summary(result: dict[str, Any], project: Path, competition: str) -> str:
    from comind.adapters.mlflow.database import tracking_server
    from comind.llm.offline import OFFLINE

    low, high = result["validation_interval"]
    program = _program()
    where = "" if project == Path.cwd() else f" --out {shlex.quote(str(project))}"
    git = where.replace("--out", "-C")
    submission = shlex.quote(_short(result["submission"]))
    refitted = ", then refitted on all labelled rows" if result["refitted"] else ""
    evidence = f"\n  confidence  {result['pick_evidence']}" if result["pick_evidence"] else ""
    blend = f"\n  blend       {result['blend']}" if result["blend"] else ""
    advice = _ADVICE if result["model"] == OFFLINE else ""
    upload = ""
    if result["upload"]:
        upload = f"\n  to upload   {_short(result['upload'])}, as the sample submission has it"
    if result["notebook"]:
        upload = f"\n  to upload   {_short(result['notebook'])} as a notebook: it is run on hidden rows"
    unsealed = "" if result["sealed"] else "\n  UNSEALED    the code could read the validation labels"
    return f"""
  submission  {_short(result["submission"])}{upload}
  validation  {result["metric"]} {result["validation_score"]:.5g}, 95 % interval [{low:.5g}, {high:.5g}]
  from        {result["best_from"]}; {result["valid_attempts"]} of {result["attempts"]} attempts valid
  final pick  {result["picked"]}: {result["pick_reason"]}{refitted}{evidence}{blend}
  took        {result["seconds"]:.0f} s, {result["tokens"]} tokens, ${result["usd"]:.2f}{unsealed}

  journal     {_short(result["journal"])}
  look        {tracking_server() or f"{program} ui{where}"}
  grade       {program} grade {shlex.quote(competition or result["competition"])} {submission}
  lineage     git{git} show --stat {result["dvc_rev"][:12]}
{advice}"""


def _program() -> str:
    """Return how this command was called, so that suggested commands can be copied."""
    called = Path(sys.argv[0])
    if called.name != "comind" or shutil.which("comind"):
        return "comind"
    return shlex.quote(_short(called))


def _short(path: str | Path) -> str:
    """Return a path relative to the current folder, where it is below it."""
    return str(Path(path).relative_to(Path.cwd()) if Path(path).is_relative_to(Path.cwd()) else path)
