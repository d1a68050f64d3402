"""Load agents: plug-ins in the entry-point group `comind.agents`."""

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from comind.campaign.agent import Agent
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.domain.suggestions import did_you_mean
from comind.domain.value import Value, check_name, validate_input
from comind.errors import ComindError, UsageError
from comind.llm.templates import Templates
from comind.system.plug_ins import NOT_INSTALLED, declared, load_plug_in, origin
from comind.wiring.models import is_offline

_GROUP = "comind.agents"
WITHOUT_MODEL = "baseline"
"""The agent that runs where no role has a language model."""

_PLATFORM_PROMPTS = ("comind.authoring", "comind.campaign", "comind.llm", "comind.profile")


def agent_names() -> list[str]:
    """Return the names of all installed agents."""
    return list(declared(_GROUP))


def load_agent(name: str) -> type[Agent]:
    """Import and validate the class of an agent.

    Raises:
        UsageError: none or several are installed under that name, or its plug-in cannot be loaded.
    """
    if name not in (names := agent_names()):
        hint = f"one of {', '.join(names)}" if names else NOT_INSTALLED
        raise UsageError(f"unknown agent {name!r}{did_you_mean(name, names)}", hint=hint)
    loaded = load_plug_in(_GROUP, name, "agent")
    where = f"the agent {name!r} of {distribution_of(name)}"
    try:
        check_name(name)  # it becomes a part of campaigns' names
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from None
    if not (isinstance(loaded, type) and issubclass(loaded, Agent)):
        raise UsageError(f"{where} is no comind.campaign.agent.Agent")
    missing = ", ".join(sorted(loaded.__abstractmethods__))
    if missing:
        raise UsageError(f"{where} has no method {missing}")
    return loaded


def agent_class(spec: CampaignSpec) -> type[Agent]:
    """Return the class of a campaign's agent; the baseline where no role has a language model."""
    found = load_agent(spec.agent)
    if found.needs_model(spec.parameters) and is_offline(spec.model, spec.models):
        return load_agent(WITHOUT_MODEL)
    return found


def agent_mounts(spec: CampaignSpec) -> Mapping[str, Path]:
    """Return folders that attempts of a campaign's agent read; none where it is not installed."""
    return agent_class(spec).mounts(spec.parameters) if spec.agent in agent_names() else {}


def runs_foreign_programs(spec: CampaignSpec) -> bool:
    """Return whether a campaign's cells run programs that others wrote, where its agent is installed."""
    return spec.agent in agent_names() and agent_class(spec).serves_model


def runs_own_code(spec: CampaignSpec) -> bool:
    """Return whether all code of a campaign is the baseline's, which may run unsealed."""
    return agent_class(spec) is load_agent(WITHOUT_MODEL)


def distribution_of(name: str) -> str:
    """Return name and version of the distribution that declares an agent; all if they collide."""
    return origin(_GROUP, name)


def all_roles() -> set[str]:
    """Return the roles of every agent that can be loaded."""
    roles: set[str] = set()
    for name in agent_names():
        try:
            roles |= set(load_agent(name).roles)
        except ComindError:
            continue  # using this agent raises the reason
    return roles


def validate_parameters(agent: type[Agent], values: Mapping[str, Any], where: str) -> Value:
    """Return an agent's validated parameters, with defaults for those that are not in `values`.

    `where` is the place of the values, for error messages.

    Raises:
        UsageError: an unknown parameter, or a value that is out of range.
    """
    parameters = agent.parameters
    unknown = sorted(set(values) - set(parameters.model_fields))
    if unknown:
        known = ", ".join(parameters.model_fields) or "none"
        meant = did_you_mean(unknown[0], parameters.model_fields)
        raise UsageError(
            f"{where}: there is no parameter {unknown[0]!r}{meant}", hint=f"there is: {known}"
        )
    return validate_input(parameters, dict(values), where)


@cache
def prompts_sha256(packages: tuple[str, ...]) -> str:
    """Return one hash over the prompt files of an agent's packages and of the platform."""
    whole = "".join(Templates(package).sha256 for package in (*packages, *_PLATFORM_PROMPTS))
    return hashlib.sha256(whole.encode()).hexdigest()
