"""`comind solve`: from a competition to a submission."""

import argparse
import secrets
import shlex
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from comind.errors import CampaignError, ComindError, CompetitionError, NoSubmissionError, UsageError
from flows.cli.answer import Answer, CommandError
from flows.cli.places import add_place, find_community, find_moment, find_project, find_solvable

if TYPE_CHECKING:
    from comind.campaign.events import CampaignSpec
    from comind.campaign.folder import CampaignFolder
    from comind.llm.settings import ModelSettings

__all__ = ["SUMMARY", "add_arguments", "run", "running", "server_ended"]

N = TypeVar("N", int, float)

SUMMARY = "Solve a competition: a tracked, versioned, resumable campaign with a submission at its end."

running: str | None = None
"""The campaign that this process is running, for whoever is told to stop."""

server_ended = False
"""Whether Prefect's server ended under us: its client would try for minutes to send what is queued."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments; what is not given comes from params.yaml."""
    parser.add_argument(
        "competition", nargs="?", metavar="COMPETITION", help="a folder, a demo or a Kaggle slug"
    )
    parser.add_argument("--resume", metavar="CAMPAIGN", help="go on with a campaign")
    parser.add_argument("--agent", help="which agent (comind)")
    parser.add_argument("--model", help="offline, or a model at the configured endpoint")
    parser.add_argument("--iterations", type=_count, metavar="N", help="rounds of ideation")
    parser.add_argument("--coders", type=_count, metavar="N", help="attempts that run at once")
    parser.add_argument("--steps", type=_count, metavar="N", help="cells an attempt may run")
    parser.add_argument("--minutes", type=_positive, metavar="M", help="time of the whole campaign")
    parser.add_argument("--max-usd", type=_amount, metavar="X", help="money of the whole campaign")
    parser.add_argument("--max-tokens", type=_count, metavar="N", help="tokens of the whole campaign")
    parser.add_argument("--seed", type=int, metavar="S", help="seed of the campaign")
    parser.add_argument("--no-baseline", action="store_true", help="leave attempt 0 out")
    parser.add_argument("--no-refit", action="store_true", help="deliver the pick as it was scored")
    parser.add_argument("--no-monitor", action="store_true", help="stop no cell before its time is over")
    parser.add_argument("--no-prove", action="store_true", help="leave published scripts unproved")
    parser.add_argument("--push", action="store_true", help="send data and ref to their remotes")
    parser.add_argument(
        "--sandbox",
        choices=("auto", "docker", "bubblewrap", "process"),
        help="where model-written code runs; process isolates nothing",
    )
    parser.add_argument(
        "--community", metavar="DIR|none", help="what others published: a folder, a store, or none"
    )
    parser.add_argument("--as-of", metavar="TIME", help="read the community as it was then")
    parser.add_argument("--profile", metavar="NAME", help="a profile of params.yaml, e.g. quick")
    add_place(parser, "folder for data, runs and tracking")


def run(args: argparse.Namespace) -> Answer:
    """Open or resume a campaign, run it, and say what came of it."""
    global running  # noqa: PLW0603 - a signal handler has no other way to know
    if (args.competition is None) == (args.resume is None):
        raise UsageError("name a COMPETITION, or --resume CAMPAIGN", hint="see comind solve --help")
    project = find_project(args.out)
    folder = _resumed(args, project) if args.resume else _opened(args, project)
    running = folder.name
    try:
        _run_flow(project, folder)
    except ComindError as error:
        known = _result(project, folder)
        raise CommandError(Answer.failure(error, known)) from None
    if server_ended:
        print("Prefect's server ended meanwhile; the campaign's log is whole", file=sys.stderr)
    result = _result(project, folder)
    if result["submission"] is None:
        nothing = NoSubmissionError("no attempt has a valid submission", hint=f"see {folder.root}")
        raise CommandError(Answer.failure(nothing, result))
    return Answer(values=result, text=_summary(result, project, args.competition or ""))


def _opened(args: argparse.Namespace, project: Path) -> "CampaignFolder":
    """Check everything that can be checked, then open a new campaign."""
    from comind.campaign.events import CampaignOpened
    from comind.campaign.folder import ProjectFolder
    from comind.campaign.loop import Campaign
    from comind.evaluation.arrival import check_competition
    from comind.evaluation.folder import load_competition
    from comind.evaluation.metrics import METRICS
    from comind.system.killpoints import passed

    competition = load_competition(find_solvable(args.competition, project))
    check_competition(competition)
    spec = _specification(args, project, competition.id, competition.folder)
    if competition.metric is None and _writes_no_evaluator(spec):
        raise CompetitionError(
            f"{competition.folder}: competition.yaml names no metric, and the offline model cannot "
            "write an evaluator",
            hint=f"add `metric: NAME` ({', '.join(sorted(METRICS))}), or name a model with --model",
        )
    estimate = _estimate(spec)
    if estimate:
        print(f"estimate: {estimate}", file=sys.stderr)
    _prepare_project(project)
    folder = ProjectFolder(project).campaign(spec.id)
    campaign = Campaign(folder)
    campaign.record(CampaignOpened(spec=spec))
    campaign.close()
    passed("campaign-opened")
    return folder


def _specification(
    args: argparse.Namespace, project: Path, competition: str, folder: Path
) -> "CampaignSpec":
    from comind.campaign.events import CampaignSpec
    from comind.domain.spend import Budget
    from comind.wiring.models import DEFAULT, configured_model, only_offline, resolved
    from comind.wiring.workshop import AGENTS
    from flows.params import read_params

    params = read_params(project).with_profile(args.profile)
    solve = params.solve
    values = solve.model_dump(exclude={"models"}) | _given(args)
    community = find_community(values["community"], folder, competition)
    as_of = find_moment(values["as_of"])
    default = solve.models.get(DEFAULT)
    model = values["model"] or (default and default.name) or configured_model()
    if values["agent"] not in AGENTS:
        raise UsageError(f"unknown agent {values['agent']!r}", hint=f"one of {', '.join(AGENTS)}")
    models = resolved(model, solve.models)
    _check_models(models, priced=values["max_usd"] is not None)
    _tell_sandbox(values["sandbox"], own_code=only_offline(model, models))
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return CampaignSpec(
        id=f"{competition}-{values['agent']}-{stamp}-{secrets.token_hex(2)}",
        competition=competition,
        competition_folder=str(folder),
        agent=values["agent"],
        model=model,
        seed=values["seed"],
        split_seed=params.prepare.seed,
        iterations=values["iterations"],
        coders=values["coders"],
        steps=values["steps"],
        attempt_seconds=60 * values["attempt_minutes"],
        cell_seconds=60 * values["cell_minutes"],
        baseline=values["baseline"],
        refit=values["refit"],
        monitor=values["monitor"],
        prove=values["prove"],
        push=values["push"],
        sandbox=values["sandbox"],
        packages=params.solve.packages.allow,
        community=community,
        as_of=as_of,
        notebooks=values["notebooks"],
        discussions=values["discussions"],
        budget=Budget(
            seconds=60 * values["minutes"],
            usd=values["max_usd"],
            tokens=values["max_tokens"],
            closing_share=values["closing_share"],
        ),
        models=models,
        traffic=solve.traffic,
    )


def _writes_no_evaluator(spec: "CampaignSpec") -> bool:
    from comind.wiring.models import OFFLINE, settings_of

    return settings_of("evaluator", spec.models, spec.model).name == OFFLINE


def _tell_sandbox(wanted: str, *, own_code: bool) -> None:
    """Say which sandbox will be used and why no stronger one; fails where there is none."""
    from comind.session.choice import explain_choice

    print(explain_choice(wanted, own_code=own_code), file=sys.stderr, flush=True)


def _given(args: argparse.Namespace) -> dict[str, Any]:
    """Return what the command line says in place of params.yaml."""
    names = [
        "agent",
        "model",
        "iterations",
        "coders",
        "steps",
        "minutes",
        "max_usd",
        "max_tokens",
        "seed",
        "sandbox",
        "community",
        "as_of",
    ]
    given = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    return (
        given
        | ({"baseline": False} if args.no_baseline else {})
        | ({"refit": False} if args.no_refit else {})
        | ({"monitor": False} if args.no_monitor else {})
        | ({"prove": False} if args.no_prove else {})
        | ({"push": True} if args.push else {})
    )


def _check_models(models: dict[str, "ModelSettings"], *, priced: bool) -> None:
    """Fail now rather than after the first attempt; a limit in dollars needs every price."""
    from comind.llm.prices import known_price
    from comind.wiring.models import OFFLINE, build_model

    for settings in models.values():
        name = settings.name or OFFLINE
        build_model(name, settings)
        if priced and name != OFFLINE and not known_price(name, settings.price):
            raise UsageError(
                f"--max-usd: the price of {name} is not known",
                hint="give it in params.yaml (solve.models), or limit --max-tokens or --minutes",
            )


def _estimate(spec: "CampaignSpec") -> str:
    """Return what the campaign will about take, in one line; nothing for the offline model."""
    from comind.agents.comind.history import MOST_TOKENS
    from comind.campaign.estimate import estimate_of, told
    from comind.llm.base import Usage
    from comind.llm.prices import price_of
    from comind.wiring.models import only_offline, settings_of

    if only_offline(spec.model, spec.models):
        return ""

    def price(role: str, usage: Usage) -> float | None:
        settings = settings_of(role, spec.models, spec.model)
        return price_of(settings.name or spec.model, usage, settings.price)

    return told(estimate_of(spec, price, most_history=MOST_TOKENS), spec)


def _resumed(args: argparse.Namespace, project: Path) -> "CampaignFolder":
    """Take up a campaign, with another budget where one is given."""
    from comind.campaign.folder import ProjectFolder
    from comind.campaign.loop import Campaign
    from comind.wiring.models import only_offline

    _prepare_project(project)
    runs = ProjectFolder(project).runs
    known = sorted(folder.name for folder in runs.glob("*") if (folder / "log.jsonl").is_file())
    if args.resume not in known:
        raise CampaignError(
            f"{runs}: there is no campaign {args.resume!r}",
            hint=f"the newest are: {', '.join(known[-3:])}" if known else "none was started here",
        )
    folder = ProjectFolder(project).campaign(args.resume)
    campaign = Campaign(folder)
    spec, budget = campaign.state.spec, campaign.state.budget
    if args.minutes is not None:
        budget = budget.model_copy(update={"seconds": 60 * args.minutes})
    if args.max_usd is not None:
        budget = budget.model_copy(update={"usd": args.max_usd})
    if args.max_tokens is not None:
        budget = budget.model_copy(update={"tokens": args.max_tokens})
    if campaign.state.ended is None or budget != campaign.state.budget:
        _tell_sandbox(spec.sandbox, own_code=only_offline(spec.model, spec.models))
        campaign.resume(budget)
    campaign.close()
    return folder


def _prepare_project(project: Path) -> None:
    from flows.environment import prepare_environment
    from tasks.versioning import ensure_repository

    prepare_environment(project)
    ensure_repository(project)


def _run_flow(project: Path, folder: "CampaignFolder") -> None:
    from comind.campaign.loop import read_state
    from flows.breakdown import explained
    from flows.orphans import close_orphans
    from flows.server import answers, prefect_server
    from flows.view import watching

    global server_ended  # noqa: PLW0603 - only how this process ends depends on it
    if read_state(folder).ended is not None:
        return
    close_orphans(project)
    with watching(folder), prefect_server(project) as api:
        # Not earlier: Prefect reads its server's address when it is imported.
        from flows.campaign import solve_competition
        from flows.orphans import close_stale_runs

        close_stale_runs(project)
        try:
            solve_competition(project, folder.name)
        except ComindError:
            raise
        except Exception as error:
            if read_state(folder).ended is not None:
                return  # only telling Prefect so has failed
            known = explained(error, project, api)
            if known is None:
                raise
            raise known from None
        finally:
            server_ended = not answers(f"{api}/health")


def _result(project: Path, folder: "CampaignFolder") -> dict[str, Any]:
    from flows.result import result_of

    return result_of(project, folder)


def _summary(result: dict[str, Any], project: Path, competition: str) -> str:
    low, high = result["validation_interval"]
    program = _program()
    where = "" if project == Path.cwd() else f" --out {shlex.quote(str(project))}"
    git = where.replace("--out", "-C")
    submission = shlex.quote(_short(result["submission"]))
    refitted = ", then refitted on all labelled rows" if result["refitted"] else ""
    seal = "" if result["sealed"] else "\n  UNSEALED    the code could read the validation labels"
    return f"""
  submission  {_short(result["submission"])}
  validation  {result["metric"]} {result["validation_score"]:.5g}, 95 % interval [{low:.5g}, {high:.5g}]
  from        {result["best_from"]}; {result["valid_attempts"]} of {result["attempts"]} attempts valid
  final pick  {result["picked"]}: {result["pick_reason"]}{refitted}
  took        {result["seconds"]:.0f} s, {result["tokens"]} tokens, ${result["usd"]:.2f}{seal}

  journal     {_short(result["journal"])}
  look        {program} ui{where}
  grade       {program} grade {shlex.quote(competition or result["competition"])} {submission}
  lineage     git{git} show --stat {result["dvc_rev"][:12]}
"""


def _program() -> str:
    """Return how this command was called, so that what we suggest can be typed as it stands."""
    called = Path(sys.argv[0])
    if called.name != "comind" or shutil.which("comind"):
        return "comind"
    return shlex.quote(_short(called))


def _short(path: str | Path) -> str:
    """Return a path as it is named from here."""
    return str(Path(path).relative_to(Path.cwd()) if Path(path).is_relative_to(Path.cwd()) else path)


def _count(text: str) -> int:
    return _number(text, int, minimum=0)


def _amount(text: str) -> float:
    return _number(text, float, minimum=0)


def _positive(text: str) -> float:
    value = _number(text, float, minimum=0)
    if value == 0:
        raise argparse.ArgumentTypeError(f"{text} is not more than 0")
    return value


def _number(text: str, kind: type[N], *, minimum: float) -> N:
    try:
        value = kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not minimum <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not {minimum} or more")
    return value
