"""Open campaigns, and resume them, before a flow runs them."""

import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from comind.adapters.dvc.versioning import ensure_repository
from comind.app.cut_logs import check_logs_whole
from comind.app.deadline import deadline_passed
from comind.app.params import Params, parse_as_of, read_params
from comind.app.projects import announce_project
from comind.campaign.log.campaign_events import CampaignEnded, CampaignOpened
from comind.campaign.log.campaign_folders import CampaignFolder, ProjectFolder, unknown_campaign
from comind.campaign.log.campaign_spec import NO_COMMUNITY, CampaignSpec
from comind.campaign.loop import Campaign
from comind.campaign.reports.call_costs import Estimate, Expected
from comind.campaign.work.project_budget import ProjectBudget
from comind.community.access import open_community
from comind.community.jsonl import is_community_folder
from comind.domain.competition import Competition
from comind.domain.resources import StoreFolders
from comind.domain.spend import Budget
from comind.errors import CompetitionError, UsageError
from comind.evaluation.competition_checks import check_competition
from comind.evaluation.competition_folder import load_competition
from comind.evaluation.metrics import METRICS
from comind.llm.costs import known_price, price_of
from comind.llm.model_ports import Usage
from comind.llm.offline import OFFLINE
from comind.llm.settings import ModelSettings
from comind.servers.tool_servers import prepare_environment
from comind.session.choice import explain_choice
from comind.session.user_store import check_store
from comind.system.disk import require_room
from comind.system.failpoints import failpoint
from comind.wiring.agents import (
    WITHOUT_MODEL,
    agent_class,
    agent_names,
    all_roles,
    distribution_of,
    load_agent,
    runs_own_code,
    validate_parameters,
)
from comind.wiring.leftovers import remove_leftovers
from comind.wiring.models import (
    DEFAULT,
    build_model,
    context_warnings,
    default_model,
    is_offline,
    resolve_settings,
    settings_for,
    uses_recordings,
)

__all__ = [
    "check_prices",
    "expected_calls",
    "limit_project",
    "open_campaign",
    "open_specified",
    "resume_campaign",
    "specify_campaign",
]

Notify = Callable[[str], None]

_REPLAYED = (
    "recorded: the replies of a strong language model are played back; "
    "all code runs, and all scores are measured, here and now"
)


def open_campaign(
    project: Path, competition: Path, overrides: Mapping[str, Any], profile: str | None, notify: Notify
) -> CampaignFolder:
    """Validate competition, parameters and environment, then open a new campaign.

    `overrides` replace values of `solve` in `params.yaml`; `set` are the agent's own parameters.
    `notify` is a callback for lines about the sandbox and the estimated cost.

    Raises:
        UsageError: the competition, a value or the environment is invalid.
    """
    loaded = load_competition(competition)
    check_competition(loaded)
    spec = specify_campaign(project, loaded, overrides, profile)
    _notify_environment(spec, notify)
    for line in context_warnings(spec.models):
        notify(line)
    expected, estimate = expected_calls(spec)
    if expected and estimate:
        notify(f"estimate: {expected.summary(estimate, spec.budget)}")
    return open_specified(project, spec)


def specify_campaign(
    project: Path,
    competition: Competition,
    overrides: Mapping[str, Any],
    profile: str | None,
    name: str = "",
) -> CampaignSpec:
    """Validate parameters; return the specification of a campaign on a checked competition, not opened.

    Its id is `name`, else made of competition, agent and time.

    Raises:
        UsageError: a value is invalid, or the competition has no metric and no model to write one.
    """
    params = read_params(project).with_profile(profile)
    spec = _specification(competition, params, overrides, _store(params, project, competition))
    agent_class(spec).check(spec)
    evaluator = settings_for("evaluator", spec.models, spec.model)
    if competition.metric is None and evaluator.name == OFFLINE:
        raise CompetitionError(
            f"{competition.folder}: competition.yaml names no metric, and only a language model "
            "can write an evaluator",
            hint=f"add `metric: NAME` ({', '.join(sorted(METRICS))}), or name a model with --model",
        )
    return spec.model_copy(update={"id": name}) if name else spec


def open_specified(project: Path, spec: CampaignSpec) -> CampaignFolder:
    """Open a new campaign by its specification.

    Raises:
        DiskError: less space is free than code is run with.
        UsageError: the project has a limit, and the price of a model is not known.
    """
    _prepare(project)
    limit_project(project, read_params(project), spec.models)
    folder = ProjectFolder(project).campaign(spec.id)
    with Campaign(folder) as campaign:
        campaign.record(CampaignOpened(spec=spec))
    failpoint("campaign-opened")
    return folder


def resume_campaign(
    project: Path, name: str, limits: Mapping[str, float | None], notify: Notify
) -> CampaignFolder:
    """Resume a campaign, with another budget where one is given; a new one continues an ended campaign.

    `limits` are by field of `Budget`; None does not change it. `notify` is a callback for a line about
    the sandbox.

    Raises:
        CampaignError: there is no such campaign, or another process is running it.
        DiskError: less space is free than code is run with.
        UsageError: its agent is not installed, or has other parameters now.
        LogError: a log lacks lines that the campaign's ref has.
    """
    _prepare(project)
    here = ProjectFolder(project)
    if name not in here.campaigns():
        raise unknown_campaign(here.runs, name, here.campaigns())
    check_logs_whole(project, name)
    folder, params = here.campaign(name), read_params(project)
    with Campaign(folder) as campaign:
        given = {field: limit for field, limit in limits.items() if limit is not None}
        budget, ended = campaign.state.budget.model_copy(update=given), campaign.state.ended
        limit_project(project, params, campaign.state.spec.models)
        if ended is None or budget != campaign.state.budget or _raised(ended, params.limits.project_usd):
            spec = campaign.state.spec
            validate_parameters(agent_class(spec), spec.parameters, f"{folder.log}: parameters")
            _notify_environment(spec, notify)
            campaign.resume(budget)
        elif ended.project_usd is not None:
            notify(ended.detail)
    return folder


def limit_project(project: Path, params: Params, models: Mapping[str, ModelSettings]) -> None:
    """Set the limit of all campaigns of the project, as params.yaml has it now.

    Raises:
        UsageError: there is one, and the price of a model is not known.
    """
    limit = params.limits.project_usd
    if limit is not None:
        check_prices(models, "params.yaml: limits.project_usd")
    ProjectBudget(ProjectFolder(project)).set_limit(limit)


def _raised(ended: CampaignEnded, limit: float | None) -> bool:
    """Return whether a campaign ended by the project's limit, which was raised or removed since."""
    return ended.project_usd is not None and (limit is None or limit > ended.project_usd)


def _notify_environment(spec: CampaignSpec, notify: Notify) -> None:
    """Notify whether replies are recorded, and in which sandbox code will run."""
    if uses_recordings(spec.models):
        notify(_REPLAYED)
    notify(explain_choice(spec.sandbox, own_code=runs_own_code(spec)))
    if spec.closed_at is not None and not runs_own_code(spec):
        opened = "" if spec.as_of is None else "; --as-of none makes what came later visible"
        notify(f"community and knowledge: {spec.visible_until()}{opened}")


def _store(params: Params, project: Path, competition: Competition) -> StoreFolders:
    """Return the user's own models and datasets, after a check for leakage.

    Attempts can read all of a store, so it must not overlap with the competition's folder, whose
    training table has the validation rows with their labels, nor with the sealed part of the splits.

    Raises:
        UsageError: a folder is missing, overlaps with labels, or would be mounted over other data.
    """
    store = params.store.below(project)
    check_store(store)
    if competition.id in dict(store.named()):
        raise UsageError(
            f"{competition.folder}: store.{competition.id} has the place of the competition's own data",
            hint="give the competition another id, or set it to null in params.yaml",
        )
    folders = ProjectFolder(project)
    labelled = (competition.folder, folders.splits, folders.downloads, folders.prepared)
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
    overrides: Mapping[str, Any],
    store: StoreFolders = StoreFolders(),  # noqa: B008 - frozen, safe to share
) -> CampaignSpec:
    """Return the spec of a new campaign; parameters of `solve` with the same name are copied."""
    given = dict(overrides)
    given_to_agent = given.pop("set", {})
    params = params.with_solve(given)
    solve = params.solve
    values = solve.model_dump(exclude={"models"})
    closed_at = deadline_passed(competition.id, competition)
    as_of = closed_at if values["as_of"] is None else parse_as_of(values["as_of"])
    default = solve.models.get(DEFAULT)
    model = values["model"] or (default and default.name) or default_model()
    agent = load_agent(values["agent"])
    models = resolve_settings(model, solve.models, agent.roles, all_roles())
    for name, settings in ((each.name or OFFLINE, each) for each in models.values()):
        build_model(name, settings)
    if values["max_usd"] is not None:
        check_prices(models, "--max-usd")
    name, parameters = _agent(values["agent"], model, models, params, given_to_agent)
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    wanted = values["community"]
    if wanted is None and not load_agent(name).needs_model:
        wanted = NO_COMMUNITY  # only agents with a model read one
    community = _community(wanted, competition)
    return CampaignSpec.model_validate(
        {name: values[name] for name in CampaignSpec.model_fields.keys() & values.keys()}
        | {
            "id": f"{competition.id}-{name}-{stamp}-{secrets.token_hex(2)}",
            "competition": competition.id,
            "competition_folder": str(competition.folder),
            "agent": name,
            "agent_origin": distribution_of(name),
            "parameters": parameters,
            "model": model,
            "models": models,
            "split_seed": params.prepare.seed,
            "attempt_seconds": 60 * values["attempt_minutes"],
            "cell_seconds": 60 * values["cell_minutes"],
            "pool": values["pool"] or "",
            "packages": solve.packages.allow,
            "store": store,
            "community": community,
            "as_of": as_of,
            "closed_at": closed_at,
            "budget": Budget(
                seconds=60 * values["minutes"],
                usd=values["max_usd"],
                tokens=values["max_tokens"],
                closing_share=values["closing_share"],
                closing_time_share=values["closing_time_share"],
            ),
        }
    )


def _agent(
    name: str,
    model: str,
    models: Mapping[str, ModelSettings],
    params: Params,
    given: Mapping[str, Any],
) -> tuple[str, dict[str, Any]]:
    """Return the name of the agent that will run, and its validated parameters.

    `given`, from the command line, overrides params.yaml. Without a language model the baseline runs;
    the parameters of the named agent are validated nevertheless.
    """
    unknown = sorted(set(params.agents) - set(agent_names()))
    if unknown:
        known = ", ".join(agent_names())
        raise UsageError(f"params.yaml: agents: unknown agent {unknown[0]!r}", hint=f"one of {known}")
    agent, own = load_agent(name), params.agents.get(name, {})
    validate_parameters(agent, own, f"params.yaml: agents.{name}")
    values = validate_parameters(agent, {**own, **given}, f"--set, for the agent {name}")
    if not agent.needs_model:
        return name, values.model_dump(mode="json")
    if is_offline(model, models):
        return WITHOUT_MODEL, {}
    for role in agent.roles:
        if settings_for(role, models, model).name == OFFLINE:
            raise UsageError(
                f"the role {role} of the agent {name} has no model",
                hint=f"name one with --model, or in params.yaml: solve.models.{role}.name",
            )
    return name, values.model_dump(mode="json")


def _community(given: str | None, competition: Competition) -> str:
    """Return the path of the community, a folder or a store, after validation; or `none`."""
    if given == NO_COMMUNITY:
        return NO_COMMUNITY
    own = competition.folder / "community"
    if given is None and not is_community_folder(own):
        return NO_COMMUNITY
    folder = (own if given is None else Path(given)).absolute()
    open_community(folder).check(competition.id)
    return str(folder)


def check_prices(models: Mapping[str, ModelSettings], limit: str) -> None:
    """Check that the price of each model is known, for a cost budget, the setting `limit`.

    Raises:
        UsageError: one is not.
    """
    for settings in models.values():
        name = settings.name or OFFLINE
        if name != OFFLINE and not known_price(name, settings.price):
            raise UsageError(
                f"{limit}: the price of {name} is not known",
                hint="give it in params.yaml (solve.models), or limit --max-tokens or --minutes",
            )


def expected_calls(spec: CampaignSpec) -> tuple[Expected | None, Estimate | None]:
    """Return the model calls that a campaign is expected to make, and their usage and cost.

    None where the agent has no estimate, or replies are recorded.
    """
    expected = None if uses_recordings(spec.models) else agent_class(spec).estimate(spec)
    if expected is None:
        return None, None

    def price(role: str, usage: Usage) -> float | None:
        settings = settings_for(role, spec.models, spec.model)
        return price_of(settings.name or spec.model, usage, settings.price)

    return expected, expected.estimate(price)


def _prepare(project: Path) -> None:
    announce_project(project)
    require_room(project, "a campaign is run")
    prepare_environment(project)
    ensure_repository(project)
    remove_leftovers(ProjectFolder(project))
