"""Open campaigns, take them up again, and run them in this process."""

import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from comind.campaign.estimate import estimate_of, summary
from comind.campaign.events import NO_COMMUNITY, CampaignOpened, CampaignSpec
from comind.campaign.folder import CampaignFolder, ProjectFolder, unknown_campaign
from comind.campaign.loop import Campaign, read_state
from comind.community.folder import is_community_folder
from comind.community.opening import open_community
from comind.domain.competition import Competition
from comind.domain.resources import StoreFolders
from comind.domain.spend import Budget
from comind.errors import ComindError, CompetitionError, UsageError
from comind.evaluation.competition_checks import check_competition
from comind.evaluation.competition_folder import load_competition
from comind.evaluation.metrics import METRICS
from comind.llm.base import Usage
from comind.llm.offline import OFFLINE
from comind.llm.prices import known_price, price_of
from comind.llm.settings import ModelSettings
from comind.session.choice import explain_choice
from comind.session.store import check_store
from comind.system.failpoints import failpoint
from comind.wiring.agents import (
    WITHOUT_MODEL,
    agent_names,
    agent_of,
    agent_type,
    origin_of,
    parameters_of,
    roles_of_all,
    runs_own_code,
)
from comind.wiring.models import (
    DEFAULT,
    assumed_contexts,
    build_model,
    configured_model,
    only_offline,
    replayed,
    resolved,
    settings_of,
)
from flows.environment import prepare_environment
from flows.moments import moment_of
from flows.params import Params, read_params
from tasks.versioning import ensure_repository

__all__ = ["open_campaign", "run_campaign", "take_up"]

Tell = Callable[[str], None]

# What a campaign takes over from `solve` as it stands there, under the same name.
_COUNTS = ("seed", "iterations", "coders", "steps", "notebooks", "discussions")
_CHOICES = (
    "baseline",
    "refit",
    "blend",
    "ensemble",
    "folds",
    "pick",
    "monitor",
    "prove",
    "push",
    "sandbox",
)
_REPLAYED = (
    "recorded: the replies of a strong language model are played back; "
    "all code runs, and all scores are measured, here and now"
)


def open_campaign(
    project: Path, competition: Path, wishes: Mapping[str, Any], profile: str | None, tell: Tell
) -> CampaignFolder:
    """Check everything that can be checked, then open a new campaign.

    `wishes` stand in place of what `params.yaml` has for `solve`. `tell` is told in which sandbox code
    will run, and what the campaign will about take.

    Raises:
        UsageError: the competition, a value or the environment is not what it should be.
    """
    loaded = load_competition(competition)
    check_competition(loaded)
    params = read_params(project).with_profile(profile)
    spec = _specification(loaded, params, wishes, _store(params, project, loaded))
    _tell_where(spec, tell)
    evaluator = settings_of("evaluator", spec.models, spec.model)
    if loaded.metric is None and evaluator.name == OFFLINE:
        raise CompetitionError(
            f"{loaded.folder}: competition.yaml names no metric, and without a language "
            "model nobody can write an evaluator",
            hint=f"add `metric: NAME` ({', '.join(sorted(METRICS))}), or name a model with --model",
        )
    for line in assumed_contexts(spec.models):
        tell(line)
    estimate = _estimate(spec)
    if estimate:
        tell(f"estimate: {estimate}")
    _prepare(project)
    folder = ProjectFolder(project).campaign(spec.id)
    with Campaign(folder) as campaign:
        campaign.record(CampaignOpened(spec=spec))
    failpoint("campaign-opened")
    return folder


def take_up(project: Path, name: str, limits: Mapping[str, float | None], tell: Tell) -> CampaignFolder:
    """Take up a campaign, with another budget where one is given; one that has ended may go on.

    `limits` are by field of `Budget`; None leaves one as it is. `tell` is told in which sandbox the code
    will run.

    Raises:
        CampaignError: there is no such campaign, or someone else is running it.
        UsageError: its agent is not installed, or has other parameters by now.
    """
    _prepare(project)
    here = ProjectFolder(project)
    if name not in here.campaigns():
        raise unknown_campaign(here.runs, name, here.campaigns())
    folder = here.campaign(name)
    with Campaign(folder) as campaign:
        given = {field: limit for field, limit in limits.items() if limit is not None}
        budget = campaign.state.budget.model_copy(update=given)
        if campaign.state.ended is None or budget != campaign.state.budget:
            spec = campaign.state.spec
            parameters_of(agent_of(spec), spec.parameters, f"{folder.log}: parameters")
            _tell_where(spec, tell)
            campaign.resume(budget)
    return folder


def run_campaign(project: Path, folder: CampaignFolder) -> None:
    """Run an opened campaign to its end, with a Prefect server and a live view.

    Raises:
        ComindError: something is missing or refuses; the campaign can be resumed.
    """
    from flows.breakdown import plain_errors
    from flows.orphans import close_orphans
    from flows.server import prefect_server
    from flows.view import watching

    if read_state(folder).ended is not None:
        return
    close_orphans(project)
    with watching(folder), prefect_server(project) as api, plain_errors(project, api):
        # Not earlier: Prefect reads its server's address when it is imported.
        from flows.campaign import solve_competition
        from flows.orphans import close_stale_runs

        close_stale_runs(project)
        try:
            solve_competition(project, folder.name)
        except ComindError:
            raise
        except Exception:
            if read_state(folder).ended is None:
                raise  # else only telling Prefect so has failed


def _tell_where(spec: CampaignSpec, tell: Tell) -> None:
    """Tell who answers, where that is no model, and in which sandbox code will run."""
    if replayed(spec.models):
        tell(_REPLAYED)
    tell(explain_choice(spec.sandbox, own_code=runs_own_code(spec)))


def _store(params: Params, project: Path, competition: Competition) -> StoreFolders:
    """Return the user's own models and datasets, once they are known to be there and to hold no label.

    Attempts can read all of a store, so it must not overlap with the competition's folder, whose
    training table has the validation rows with their labels, nor with the sealed part of the splits.
    """
    store = params.store.below(project)
    check_store(store)
    if competition.id in dict(store.named()):
        raise UsageError(
            f"{competition.folder}: store.{competition.id} has the place of the competition's own data",
            hint="give the competition another id, or set it to null in params.yaml",
        )
    labelled = (competition.folder, ProjectFolder(project).splits)
    for kind, folder in store.named():
        mounted = Path(folder).resolve()
        for place in (each.resolve() for each in labelled):
            if place.is_relative_to(mounted) or mounted.is_relative_to(place):
                raise UsageError(
                    f"params.yaml: store.{kind}: {folder} overlaps with {place}, which holds labels",
                    hint="name a folder that has neither competitions nor splits in it",
                )
    return store


def _specification(
    competition: Competition,
    params: Params,
    wishes: Mapping[str, Any],
    store: StoreFolders = StoreFolders(),  # noqa: B008 - frozen, safe to share
) -> CampaignSpec:
    solve = params.solve
    values = solve.model_dump(exclude={"models"}) | dict(wishes)
    as_of = moment_of(values["as_of"])
    default = solve.models.get(DEFAULT)
    model = values["model"] or (default and default.name) or configured_model()
    agent = agent_type(values["agent"])
    models = resolved(model, solve.models, agent.roles, roles_of_all())
    _check_models(models, priced=values["max_usd"] is not None)
    name, parameters = _agent(values["agent"], model, models, params, values.get("set", {}))
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    wanted = values["community"]
    if wanted is None and not agent_type(name).needs_model:
        wanted = NO_COMMUNITY  # nobody would read it
    community = _community(wanted, competition)
    return CampaignSpec(
        id=f"{competition.id}-{name}-{stamp}-{secrets.token_hex(2)}",
        competition=competition.id,
        competition_folder=str(competition.folder),
        agent=name,
        agent_origin=origin_of(name),
        parameters=parameters,
        model=model,
        split_seed=params.prepare.seed,
        attempt_seconds=60 * values["attempt_minutes"],
        cell_seconds=60 * values["cell_minutes"],
        round_share=values["round_share"],
        packages=solve.packages.allow,
        store=store,
        community=community,
        as_of=as_of,
        budget=Budget(
            seconds=60 * values["minutes"],
            usd=values["max_usd"],
            tokens=values["max_tokens"],
            closing_share=values["closing_share"],
            closing_time_share=values["closing_time_share"],
        ),
        models=models,
        traffic=solve.traffic,
        **{name: values[name] for name in (*_COUNTS, *_CHOICES)},
    )


def _agent(
    name: str,
    model: str,
    models: Mapping[str, ModelSettings],
    params: Params,
    given: Mapping[str, Any],
) -> tuple[str, dict[str, Any]]:
    """Return the agent that will run, and its parameters: those of the command line go first.

    Without a language model that is the baseline alone; the parameters of the agent that was named are
    checked all the same.
    """
    unknown = sorted(set(params.agents) - set(agent_names()))
    if unknown:
        known = ", ".join(agent_names())
        raise UsageError(f"params.yaml: agents: unknown agent {unknown[0]!r}", hint=f"one of {known}")
    agent, own = agent_type(name), params.agents.get(name, {})
    parameters_of(agent, own, f"params.yaml: agents.{name}")
    values = parameters_of(agent, {**own, **given}, f"--set, for the agent {name}")
    if not agent.needs_model:
        return name, values.model_dump(mode="json")
    if only_offline(model, models):
        return WITHOUT_MODEL, {}
    for role in agent.roles:
        if settings_of(role, models, model).name == OFFLINE:
            raise UsageError(
                f"the role {role} of the agent {name} has no model",
                hint=f"name one with --model, or in params.yaml: solve.models.{role}.name",
            )
    return name, values.model_dump(mode="json")


def _community(given: str | None, competition: Competition) -> str:
    """Return the community that is meant, a folder or a store, or `none`; it has been read once."""
    if given == NO_COMMUNITY:
        return NO_COMMUNITY
    own = competition.folder / "community"
    if given is None and not is_community_folder(own):
        return NO_COMMUNITY
    folder = (own if given is None else Path(given)).absolute()
    open_community(folder).check(competition.id)
    return str(folder)


def _check_models(models: dict[str, ModelSettings], *, priced: bool) -> None:
    """Fail now rather than after the first attempt; a limit in dollars needs every price."""
    for settings in models.values():
        name = settings.name or OFFLINE
        build_model(name, settings)
        if priced and name != OFFLINE and not known_price(name, settings.price):
            raise UsageError(
                f"--max-usd: the price of {name} is not known",
                hint="give it in params.yaml (solve.models), or limit --max-tokens or --minutes",
            )


def _estimate(spec: CampaignSpec) -> str:
    """Return what the campaign will about take, in one line; nothing where the agent cannot tell."""
    expected = None if replayed(spec.models) else agent_of(spec).estimate(spec)
    if expected is None:
        return ""

    def price(role: str, usage: Usage) -> float | None:
        settings = settings_of(role, spec.models, spec.model)
        return price_of(settings.name or spec.model, usage, settings.price)

    return summary(expected, estimate_of(expected, price), spec.budget)


def _prepare(project: Path) -> None:
    prepare_environment(project)
    ensure_repository(project)
