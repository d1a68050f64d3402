"""Which agents there are: plug-ins in the entry-point group `comind.agents`."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from comind.campaign.agent import Agent
from comind.campaign.log.campaign_events import CampaignSpec
from comind.domain.value import Value, check_name, validate_input
from comind.errors import UsageError
from comind.wiring.models import only_offline

__all__ = [
    "GROUP",
    "WITHOUT_MODEL",
    "agent_names",
    "agent_of",
    "agent_type",
    "origin_of",
    "parameters_of",
    "roles_of_all",
    "runs_own_code",
]

GROUP = "comind.agents"
WITHOUT_MODEL = "baseline"
"""The agent that runs where no role has a language model."""


@cache
def _registered() -> dict[str, list[EntryPoint]]:
    """Return the entry points by name; more than one where distributions collide."""
    found: dict[str, list[EntryPoint]] = {}
    for each in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        same = found.setdefault(each.name, [])
        if each.value not in [other.value for other in same]:
            same.append(each)
    return found


def agent_names() -> list[str]:
    """Return the names of all agents that are installed."""
    return list(_registered())


def agent_type(name: str) -> type[Agent]:
    """Return the class of an agent.

    Raises:
        UsageError: none or several are installed under that name, or its plug-in cannot be loaded.
    """
    found = _registered().get(name, [])
    if not found:
        known = ", ".join(agent_names())
        hint = f"one of {known}" if known else "CoMind itself is not installed: pip install --no-deps ."
        raise UsageError(f"unknown agent {name!r}", hint=hint)
    if len(found) > 1:
        raise UsageError(
            f"the agent {name!r} is declared by {origin_of(name)}", hint="uninstall all but one"
        )
    where = f"the agent {name!r} of {origin_of(name)}"
    try:
        check_name(name)  # it is a part of campaigns' names
        loaded = found[0].load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a plug-in does when imported
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UsageError(f"{where} cannot be loaded: {reason}") from None
    if not (isinstance(loaded, type) and issubclass(loaded, Agent)):
        raise UsageError(f"{where} is no comind.campaign.agent.Agent")
    missing = ", ".join(sorted(loaded.__abstractmethods__))
    if missing:
        raise UsageError(f"{where} has no method {missing}")
    return loaded


def agent_of(spec: CampaignSpec) -> type[Agent]:
    """Return the class of a campaign's agent; the baseline alone where no role has a language model."""
    found = agent_type(spec.agent)
    if found.needs_model and only_offline(spec.model, spec.models):
        return agent_type(WITHOUT_MODEL)
    return found


def runs_own_code(spec: CampaignSpec) -> bool:
    """Return whether all code of a campaign is the baseline's, which may run unsealed."""
    return agent_of(spec) is agent_type(WITHOUT_MODEL)


def origin_of(name: str) -> str:
    """Return the distribution that an agent comes from, with its version; all if they collide."""
    return " and ".join(
        f"{each.dist.name} {each.dist.version}" if each.dist else "an unknown distribution"
        for each in _registered().get(name, [])
    )


def roles_of_all() -> set[str]:
    """Return the roles of every agent that can be loaded."""
    roles: set[str] = set()
    for name in agent_names():
        try:
            roles |= set(agent_type(name).roles)
        except UsageError:
            continue  # it is named, with the reason, where somebody wants it
    return roles


def parameters_of(agent: type[Agent], values: Mapping[str, Any], where: str) -> Value:
    """Return an agent's parameters, given at `where`; what is not given has its default.

    Raises:
        UsageError: it has no such parameter, or a value is out of range.
    """
    kind = agent.parameters
    unknown = sorted(set(values) - set(kind.model_fields))
    if unknown:
        known = ", ".join(kind.model_fields) or "none"
        raise UsageError(f"{where}: there is no parameter {unknown[0]!r}", hint=f"there is: {known}")
    return validate_input(kind, dict(values), where)
