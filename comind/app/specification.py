"""Specify campaigns: validate their settings, and resolve models, agent, community and budget."""

import secrets
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from comind.app.deadline import deadline_passed
from comind.app.params import Params, read_params
from comind.campaign.agent import Agent
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.campaign_settings import NONE, CampaignSettings
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.campaign.reports.call_costs import Estimate, Expected
from comind.community.access import open_community
from comind.community.jsonl import is_community_folder
from comind.domain.competition import Competition
from comind.domain.resources import StoreFolders
from comind.errors import CompetitionError, UnstatedBudgetError, UsageError
from comind.llm.costs import costs_money, known_price, price_of
from comind.llm.forwarding import ForwardingModel
from comind.llm.model_ports import Usage
from comind.llm.offline import OFFLINE
from comind.llm.settings import ModelSettings
from comind.metrics import metric_names
from comind.session.user_store import check_store
from comind.wiring.agents import (
    WITHOUT_MODEL,
    agent_class,
    agent_names,
    all_roles,
    distribution_of,
    load_agent,
    validate_parameters,
)
from comind.wiring.models import (
    DEFAULT,
    build_model,
    default_model,
    is_offline,
    resolve_settings,
    settings_for,
    uses_recordings,
)


def specify_campaign(
    project: Path,
    competition: Competition,
    overrides: Mapping[str, Any],
    profiles: Iterable[str],
    name: str = "",
) -> CampaignSpec:
    """Validate parameters; return the specification of a campaign on a checked competition, not opened.

    Its id is `name`, else made of competition, agent and time.

    Raises:
        UsageError: a value is invalid, or the competition has no metric and no model to write one.
    """
    params = read_params(project)
    for each in profiles:
        params = params.with_profile(each)
    spec = _specification(competition, params, overrides, _store(params, project, competition))
    if spec.feedback == "test" and competition.program is None:
        hint = "leave it out; of tables, the labels of the test rows are sealed"
        raise UsageError("feedback: test is for competitions of programs", hint=hint)
    agent = agent_class(spec)
    agent.check(spec)
    if agent.serves_model and agent.needs_model(spec.parameters):
        _check_forwarding(agent, spec)
    for mount, folder in agent.mounts(spec.parameters).items():
        if not (project / folder).is_dir():
            hint = "make peers builds those of the profiles"
            raise UsageError(f"{folder}: there is no such folder, which is input/{mount}", hint=hint)
        _check_without_labels(
            f"the folder input/{mount} of the agent", project / folder, project, competition
        )
    evaluator = settings_for("evaluator", spec.models, spec.model)
    if competition.metric is None and evaluator.name == OFFLINE:
        raise CompetitionError(
            f"{competition.folder}: competition.yaml names no metric, and only a language model "
            "can write an evaluator",
            hint=f"add `metric: NAME` ({', '.join(metric_names())}), or name a model with --model",
        )
    return spec.model_copy(update={"id": name}) if name else spec


def _check_forwarding(agent: type[Agent], spec: CampaignSpec) -> None:
    """Check that programs of others can call the models of an agent that serves them one."""
    for role in agent.roles:
        settings = settings_for(role, spec.models, spec.model)
        model = build_model(settings.name or spec.model, settings)
        if not isinstance(model, ForwardingModel):
            raise UsageError(
                f"the model {model.name} takes no requests of other programs, as the agent "
                f"{spec.agent} needs",
                hint="name one at an endpoint with --model",
            )


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
    for key, folder in store.named():
        _check_without_labels(f"params.yaml: store.{key}", Path(folder), project, competition)
    return store


def _check_without_labels(what: str, folder: Path, project: Path, competition: Competition) -> None:
    """Check that a folder that attempts read does not overlap with one that holds labels.

    Raises:
        UsageError: it does.
    """
    if place := ProjectFolder(project).overlapping(folder, competition.folder):
        raise UsageError(
            f"{what}: {folder} overlaps with {place}, which holds labels",
            hint="name a folder that has neither competitions nor splits in it",
        )


def _specification(
    competition: Competition,
    params: Params,
    overrides: Mapping[str, Any],
    store: StoreFolders = StoreFolders(),  # noqa: B008 - frozen, safe to share
) -> CampaignSpec:
    """Return the specification of a new campaign: settings, with what they are resolved to."""
    params = params.with_solve(overrides)
    solve = params.solve
    closed_at = deadline_passed(competition.id, competition)
    model, models = resolve_models(solve)
    name, parameters = _agent(model, models, params)
    if name != WITHOUT_MODEL:
        check_dollars(models, solve.max_usd)
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    wanted = solve.community
    if wanted is None and not load_agent(name).needs_model(parameters):
        wanted = NONE  # only agents with a model read one
    resolved = {
        "id": f"{competition.id}-{name}-{stamp}-{secrets.token_hex(2)}",
        "competition": competition.id,
        "competition_folder": str(competition.folder),
        "agent": name,
        "agent_origin": distribution_of(name),
        "parameters": parameters,
        "model": model,
        "models": models,
        "split_seed": params.prepare.seed,
        "store": store,
        "community": _community(wanted, competition),
        "as_of": solve.as_of or closed_at or NONE,
        "closed_at": closed_at,
    }
    return CampaignSpec.model_validate(dict(solve) | resolved)


def resolve_models(solve: CampaignSettings) -> tuple[str, dict[str, ModelSettings]]:
    """Return the model of a campaign, and the settings of each role.

    Raises:
        UsageError: a role is unknown, or a model's settings are invalid.
        ModelServiceError: the configured endpoint does not list its models.
    """
    default = solve.models.get(DEFAULT)
    model = solve.model or (default and default.name) or default_model()
    models = resolve_settings(model, solve.models, load_agent(solve.agent).roles, all_roles())
    for settings in models.values():
        build_model(settings.name or OFFLINE, settings)
    return model, models


def check_budget(solve: CampaignSettings) -> None:
    """Check that the settings of a campaign state a budget in dollars that can be kept, or need none.

    Raises:
        UsageError: they do not, or a model's settings are invalid.
    """
    check_dollars(resolve_models(solve)[1], solve.max_usd)


def check_dollars(models: Mapping[str, ModelSettings], max_usd: float | str | None) -> None:
    """Check that a budget in dollars can be kept, or that none is needed.

    Raises:
        UsageError: there is one, and the price of a model is not known.
        UnstatedBudgetError: there is none, and a model has a price.
    """
    if isinstance(max_usd, float):
        check_prices(models, "--max-usd")
    elif max_usd is None:
        for settings in models.values():
            if costs_money(settings.name or OFFLINE, settings.price):
                raise UnstatedBudgetError(
                    f"{settings.name} costs money, and no budget in dollars is stated",
                    hint="--max-usd X, or --max-usd none for no limit (params.yaml: solve.max_usd)",
                )


def _agent(
    model: str, models: Mapping[str, ModelSettings], params: Params
) -> tuple[str, dict[str, Any]]:
    """Return the name of the agent that will run, and its validated parameters.

    Without a language model the baseline runs; the parameters of the named agent are validated
    nevertheless.
    """
    name, given = params.solve.agent, params.solve.set
    unknown = sorted(set(params.agents) - set(agent_names()))
    if unknown:
        known = ", ".join(agent_names())
        raise UsageError(f"params.yaml: agents: unknown agent {unknown[0]!r}", hint=f"one of {known}")
    agent, own = load_agent(name), params.agents.get(name, {})
    validate_parameters(agent, own, f"params.yaml: agents.{name}")
    values = validate_parameters(agent, {**own, **given}, f"--set, for the agent {name}")
    parameters = values.model_dump(mode="json")
    if not agent.needs_model(parameters):
        return name, parameters
    if is_offline(model, models):
        return WITHOUT_MODEL, {}
    for role in agent.roles:
        if settings_for(role, models, model).name == OFFLINE:
            raise UsageError(
                f"the role {role} of the agent {name} has no model",
                hint=f"name one with --model, or in params.yaml: solve.models.{role}.name",
            )
    return name, parameters


def _community(given: str | None, competition: Competition) -> str:
    """Return the path of the community, a folder or a store, after validation; or `none`."""
    if given == NONE:
        return NONE
    own = competition.folder / "community"
    if given is None and not is_community_folder(own):
        return NONE
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
