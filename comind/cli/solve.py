"""Solve a competition: a tracked, versioned, resumable campaign that ends with a submission."""

import argparse
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

from comind.adapters.mlflow.database import tracking_server
from comind.app.campaign_opening import open_campaign, resume_campaign
from comind.app.paths import find_or_fetch_competition, find_project
from comind.app.projects import refuse_shared_folder
from comind.app.result import result_of
from comind.app.terminal.questions import ask_dollars, may_ask
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.campaign_settings import NONE
from comind.cli import command
from comind.cli.command import CommandResult
from comind.cli.in_process import run_campaign
from comind.cli.settings_options import settings_given
from comind.errors import ComindError, NoSubmissionError, UnstatedBudgetError
from comind.servers.tool_servers import announced_pages
from comind.wiring.agents import WITHOUT_MODEL

_LIMITS = {"minutes": "seconds", "max_usd": "usd", "max_tokens": "tokens", "evaluations": "evaluations"}
"""Settings that are limits, and the fields of `Budget`."""

_ADVICE = """
  no model    a language model (OPENAI_API_KEY, --model) would read the description and what others
              published, and write features and models for this data; the baseline does neither
"""


def run(args: argparse.Namespace) -> CommandResult:
    """Run the command."""
    project = find_project(args.out)
    folder = _resume(args, project) if args.resume else _open(args, project)
    where = f" --out {shlex.quote(args.out)}" if args.out else ""
    command.resume_with = f"comind solve --resume {folder.name}{where}"

    try:
        run_campaign(project, folder)
    except ComindError as error:
        return CommandResult.failure(error, result_of(project, folder))
    result = result_of(project, folder)
    if result["submission"] is None:
        nothing = NoSubmissionError("no attempt has a valid submission", hint=f"see {folder.root}")
        return CommandResult.failure(nothing, result)
    return CommandResult(values=result, text=_summary(result, project, args.competition or ""))


def _open(args: argparse.Namespace, project: Path) -> CampaignFolder:
    """Open a new campaign; a person at the terminal is asked for the cost budget that is not stated."""
    given = settings_given(args)
    refuse_shared_folder(project)
    competition = find_or_fetch_competition(args.competition, project, args.describe or "")
    try:
        return open_campaign(project, competition, given, args.profile, _print)
    except UnstatedBudgetError as error:
        if not may_ask():
            raise
        question = str(error)
    given["max_usd"] = ask_dollars(question)
    return open_campaign(project, competition, given, args.profile, _print)


def _resume(args: argparse.Namespace, project: Path) -> CampaignFolder:
    """Resume a campaign, with what may change."""
    given = settings_given(args)
    limits = {field: given.pop(name) for name, field in _LIMITS.items() if name in given}
    limits = {field: None if limit == NONE else limit for field, limit in limits.items()}
    if limits.get("seconds"):
        limits["seconds"] *= 60
    return resume_campaign(project, args.resume, _print, limits=limits, settings=given)


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _summary(result: dict[str, Any], project: Path, competition: str) -> str:
    low, high = result["validation_interval"]
    program = _program()
    where = "" if project == Path.cwd() else f" --out {shlex.quote(str(project))}"
    submission = shlex.quote(_short(result["submission"]))
    refitted = ", then refitted on all labelled rows" if result["refitted"] else ""
    evidence = f"\n  confidence  {result['pick_evidence']}" if result["pick_evidence"] else ""
    blend = f"\n  blend       {result['blend']}" if result["blend"] else ""
    advice = _ADVICE if result["agent"] == WITHOUT_MODEL else ""
    upload = ""
    if result["upload"]:
        upload = f"\n  to upload   {_short(result['upload'])}, as the sample submission has it"
    if result["notebook"]:
        upload = f"\n  to upload   {_short(result['notebook'])} as a notebook: it is run on hidden rows"
    total = result["seconds"] + result["proof_seconds"]
    after = f"; with the proofs after that {total:.0f} s" if result["proof_seconds"] else ""
    after += "" if result["sealed"] else "\n  UNSEALED    the code could read the validation labels"
    return f"""
  submission  {_short(result["submission"])}{upload}
  validation  {result["metric"]} {result["validation_score"]:.5g}, 95 % interval [{low:.5g}, {high:.5g}]
  from        {result["best_from"]}; {result["valid_attempts"]} of {result["attempts"]} attempts valid
  final pick  {result["picked"]}: {result["pick_reason"]}{refitted}{evidence}{blend}
  took        {result["seconds"]:.0f} s, {result["tokens"]} tokens, ${result["usd"]:.2f}{after}

  journal     {_short(result["journal"])}
{_pages(project, result["campaign"], f"{program} ui{where}")}
  grade       {program} grade {shlex.quote(competition or result["competition"])} {submission}
  lineage     {program} lineage {result["campaign"]}{where}
{advice}"""


def _pages(project: Path, campaign: str, command: str) -> str:
    """Return the lines that name the pages of a campaign: those that are served, else the command."""
    pages = announced_pages(project)
    if "CoMind" in pages:
        pages["CoMind"] += f"/campaigns/{campaign}"
    if server := tracking_server():
        pages["MLflow"] = server
    if not pages:
        pages["pages"] = f"{command}  (live page, MLflow, Prefect)"
    return "\n".join(f"  {name.lower():12}{address}" for name, address in pages.items())


def _program() -> str:
    """Return how this command was called, so that suggested commands can be copied."""
    called = Path(sys.argv[0])
    if called.name != "comind" or shutil.which("comind"):
        return "comind"
    return shlex.quote(_short(called))


def _short(path: str | Path) -> str:
    """Return a path relative to the current folder, where it is below it."""
    return str(Path(path).relative_to(Path.cwd()) if Path(path).is_relative_to(Path.cwd()) else path)
