"""Open campaigns, and resume them, before a flow runs them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from comind.adapters.dvc.versioning import ensure_repository
from comind.app.cut_logs import check_logs_whole
from comind.app.log_settings import logged_beside
from comind.app.params import Params, read_params
from comind.app.projects import announce_project
from comind.app.specification import (
    check_dollars,
    check_prices,
    expected_calls,
    resolve_models,
    specify_campaign,
)
from comind.campaign.log.campaign_events import CampaignEnded, CampaignOpened
from comind.campaign.log.campaign_folders import CampaignFolder, ProjectFolder, unknown_campaign
from comind.campaign.log.campaign_settings import NONE
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.campaign.loop import Campaign
from comind.campaign.work.project_budget import ProjectBudget
from comind.competitions.competition_folder import load_competition
from comind.errors import UsageError
from comind.llm.settings import ModelSettings
from comind.servers.tool_servers import prepare_environment
from comind.session.choice import explain_choice
from comind.splits.checked_plan import prepare_split
from comind.system.disk import require_room
from comind.system.failpoints import failpoint
from comind.system.hardware import usable_cores
from comind.system.plurals import quantity
from comind.wiring.agents import (
    agent_class,
    load_agent,
    runs_own_code,
    validate_parameters,
)
from comind.wiring.leftovers import remove_leftovers
from comind.wiring.models import (
    context_warnings,
    is_offline,
    uses_recordings,
)

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
    prepare_split(loaded, read_params(project).prepare.seed, ProjectFolder(project).splits)
    spec = specify_campaign(project, loaded, overrides, [profile] if profile else [])
    if spec.agent != (asked := overrides.get("agent", spec.agent)):
        notify(f"agent: {spec.agent}, as {asked} needs a language model; name one with --model")
    _notify_environment(spec, notify)
    for line in context_warnings(spec.models):
        notify(line)
    expected, estimate = expected_calls(spec)
    if expected and estimate:
        notify(f"estimate: {expected.summary(estimate, spec.budget)}")
    return open_specified(project, spec)


def open_specified(project: Path, spec: CampaignSpec) -> CampaignFolder:
    """Open a new campaign by its specification.

    Raises:
        DiskError: less space is free than code is run with.
        UsageError: the project has a limit, and the price of a model is not known.
    """
    _prepare(project)
    limit_project(project, read_params(project), spec.models)
    folder = ProjectFolder(project).campaign(spec.id)
    with Campaign(folder) as campaign, logged_beside(folder.program_log):
        campaign.record(CampaignOpened(spec=spec))
    failpoint("campaign-opened")
    return folder


def resume_campaign(
    project: Path,
    name: str,
    notify: Notify,
    *,
    limits: Mapping[str, float | None] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> CampaignFolder:
    """Resume a campaign, with other limits and settings where given; an ended one continues by them.

    `limits` replace fields of its `Budget`, None for no limit; `settings` replace those of
    `CHANGEABLE` that are no limits. `notify` is a callback for a line about the sandbox.

    Raises:
        CampaignError: there is no such campaign, or another process is running it.
        DiskError: less space is free than code is run with.
        UsageError: its agent is not installed, or has other parameters now; or a value is invalid.
        LogError: a log lacks lines that the campaign's ref has.
    """
    here = ProjectFolder(project)
    if name not in here.campaigns():
        raise unknown_campaign(here.runs, name, here.campaigns())
    _prepare(project)
    check_logs_whole(project, name)
    folder, params = here.campaign(name), read_params(project)
    with Campaign(folder) as campaign, logged_beside(folder.program_log):
        budget = campaign.state.budget.model_copy(update=limits or {})
        ended = campaign.state.ended
        changes = _changes(campaign.state.spec, params, settings or {})
        spec = campaign.state.spec.changed(changes)
        if "models" in changes:
            no_limit = NONE if "usd" in (limits or {}) else spec.max_usd
            check_dollars(spec.models, no_limit if budget.usd is None else budget.usd)
        limit_project(project, params, spec.models)
        continues = budget != campaign.state.budget or _raised(ended, params.limits.project_usd)
        if ended is None or continues or changes:
            validate_parameters(agent_class(spec), spec.parameters, f"{folder.log}: parameters")
            _notify_environment(spec, notify)
            campaign.resume(budget, changes)
        elif ended.project_usd is not None:
            notify(ended.detail)
    return folder


def _changes(spec: CampaignSpec, params: Params, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a specification that other settings change, as JSON.

    With another model, the settings of models are those of params.yaml now.

    Raises:
        UsageError: the campaign runs without a model, or would from now on.
    """
    given = dict(settings)
    if "model" in given:
        asked = params.solve.overridden_by({"agent": spec.agent, "model": given["model"]})
        given["model"], given["models"] = resolve_models(asked)
        needs_model = load_agent(spec.agent).needs_model(spec.parameters)
        if needs_model == is_offline(given["model"], given["models"]):
            raise UsageError(
                f"--model {given['model']}: the agent {spec.agent} "
                + ("needs a language model" if needs_model else "uses none"),
                hint="open a new campaign",
            )
    changed = spec.changed(given).model_dump(mode="json")
    before = spec.model_dump(mode="json")
    return {key: changed[key] for key in given if changed[key] != before[key]}


def limit_project(project: Path, params: Params, models: Mapping[str, ModelSettings]) -> None:
    """Set the limit of all campaigns of the project, as params.yaml has it now.

    Raises:
        UsageError: there is one, and the price of a model is not known.
    """
    limit = params.limits.project_usd
    if limit is not None:
        check_prices(models, "params.yaml: limits.project_usd")
    ProjectBudget(ProjectFolder(project)).set_limit(limit)


def _raised(ended: CampaignEnded | None, limit: float | None) -> bool:
    """Return whether a campaign ended by the project's limit, which was raised or removed since."""
    if ended is None or ended.project_usd is None:
        return False
    return limit is None or limit > ended.project_usd


def _notify_environment(spec: CampaignSpec, notify: Notify) -> None:
    """Notify whether replies are recorded, in which sandbox code runs, and how many attempts at once."""
    if uses_recordings(spec.models):
        notify(_REPLAYED)
    notify(explain_choice(spec.sandbox, own_code=runs_own_code(spec)))
    if (at_once := spec.attempts_at_once(cores := usable_cores())) < spec.coders:
        notify(
            f"attempts: {spec.coders} coders, {quantity(min(cores, spec.cores or cores), 'core')}: "
            f"{at_once} at a time, one a core, and the others after them"
        )
    if spec.closed_at is not None and not runs_own_code(spec):
        opened = "" if spec.cutoff is None else "; --as-of none makes what came later visible"
        notify(f"community and knowledge: {spec.visible_until()}{opened}")


def _prepare(project: Path) -> None:
    announce_project(project)
    require_room(project, "a campaign is run")
    prepare_environment(project)
    ensure_repository(project)
    remove_leftovers(ProjectFolder(project))
