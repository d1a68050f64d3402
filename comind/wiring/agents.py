"""Which agents there are: plug-ins in the entry-point group `comind.agents`."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from comind.campaign.agent import Agent
from comind.campaign.events import CampaignSpec
from comind.domain.value import Value, check_name, wanted
from comind.errors import UsageError
from comind.wiring.models import is_offline

__all__ = [
    "GROUP",
    "WITHOUT_MODEL",
    "agent_class",
    "agent_names",
    "all_roles",
    "distribution_of",
    "load_agent",
    "runs_own_code",
    "validate_parameters",
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


def load_agent(name: str) -> type[Agent]:
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
            f"the agent {name!r} is declared by {distribution_of(name)}", hint="uninstall all but one"
        )
    where = f"the agent {name!r} of {distribution_of(name)}"
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


def agent_class(spec: CampaignSpec) -> type[Agent]:
    """Return the class of a campaign's agent; the baseline alone where no role has a language model."""
    found = load_agent(spec.agent)
    if found.needs_model and is_offline(spec.model, spec.models):
        return load_agent(WITHOUT_MODEL)
    return found


def runs_own_code(spec: CampaignSpec) -> bool:
    """Return whether all code of a campaign is the baseline's, which may run unsealed."""
    return agent_class(spec) is load_agent(WITHOUT_MODEL)


def distribution_of(name: str) -> str:
    """Return the distribution that an agent comes from, with its version; all if they collide."""
    return " and ".join(
        f"{each.dist.name} {each.dist.version}" if each.dist else "an unknown distribution"
        for each in _registered().get(name, [])
    )


def all_roles() -> set[str]:
    """Return the roles of every agent that can be loaded."""
    roles: set[str] = set()
    for name in agent_names():
        try:
            roles |= set(load_agent(name).roles)
        except UsageError:
            continue  # it is named, with the reason, where somebody wants it
    return roles


def validate_parameters(agent: type[Agent], values: Mapping[str, Any], where: str) -> Value:
    """Return an agent's parameters, given at `where`; what is not given has its default.

    Raises:
        UsageError: it has no such parameter, or a value is out of range.
    """
    kind = agent.parameters
    unknown = sorted(set(values) - set(kind.model_fields))
    if unknown:
        known = ", ".join(kind.model_fields) or "none"
        raise UsageError(f"{where}: there is no parameter {unknown[0]!r}", hint=f"there is: {known}")
    return wanted(kind, dict(values), where)
