"""Upgrade what former revisions have logged: the one place with former names and defaults."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from comind.campaign.log.campaign_settings import NONE
from comind.domain.spend import Budget

_TYPES = {"finalists-left": "fold-finished"}
_FIELDS = {"aside": "scratch", "going_on": "continuing"}
"""Former and present names."""
_RETIRED = {"comind": frozenset({"random_per_round"})}
"""Parameters that an agent had."""
_GONE = ("edition", "opening_version")
"""Fields of work that nothing reads any more."""
_PLAN = re.compile(r"plan-\d+")  # of AutoMind's nodes
_PLACE = re.compile(r"(candidate|merge|refine|ensemble) (\d+)\.(\d+)")

_DEFAULTS_OF_THEN = {
    "blend": False,
    "folds": 0,
    "pick": "simplest",
    "ensemble": False,
    "round_share": 1.0,
}
"""What a log that lacks a setting was run with, where it is not the default of today."""


def upgrade_event(values: Any) -> Any:
    """Return an event as it is written today; one that is no mapping is returned as it is."""
    if not isinstance(values, Mapping):
        return values
    found = {_FIELDS.get(name, name): value for name, value in values.items()}
    found["type"] = _TYPES.get(found.get("type", ""), found.get("type"))
    if isinstance(work := found.get("work"), Mapping):
        work = {_FIELDS.get(name, name): work[name] for name in work if name not in _GONE}
        found["work"] = _facts_of(work) | work
    if isinstance(outcome := found.get("outcome"), Mapping):
        found["outcome"] = _result_of(outcome.get("report")) | dict(outcome)
    return found


def _facts_of(work: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `facts` of an attempt, which agents had in the `kind` or `sources` of its draft."""
    draft = work.get("draft")
    label = draft.get("kind") if isinstance(draft, Mapping) else None
    if not isinstance(draft, Mapping) or not isinstance(label, str) or "facts" in work:
        return {}
    if place := _PLACE.fullmatch(label):
        numbers = {"solution": int(place[2]), "number": int(place[3])}
        return {"facts": {"phase": place[1], **numbers}}
    sources = draft.get("sources")
    if isinstance(sources, list) and sources and _PLAN.fullmatch(str(sources[0])):
        return {"facts": {"plan": str(sources[0])}}
    if work.get("role") != "baseline" or not draft.get("codebase") or not label:
        return {}
    averages = label in ("average", "first average")
    return {"facts": {"step": label} if averages else {"step": "search", "family": label}}


def _result_of(report: object) -> dict[str, Any]:
    """Return the `result` of an attempt of the baseline's search, which was JSON in its report."""
    found: list[dict[str, Any]] = []
    for line in report.splitlines() if isinstance(report, str) else ():
        if line.startswith(('{"kind"', '{"settings"')):
            with suppress(json.JSONDecodeError):
                found.append(json.loads(line))
    if any("settings" in each for each in found):
        return {"result": {"best": found[-1]}}
    screened = [{"family" if key == "kind" else key: each[key] for key in each} for each in found]
    return {"result": {"screened": screened}} if screened else {}


def upgrade_spec(values: Any) -> Any:
    """Return a campaign's specification in the present form; its limits were in a `budget`.

    Parameters that an agent no longer has are dropped.
    """
    if not isinstance(values, Mapping):
        return values
    gone = _RETIRED.get(str(values.get("agent")), frozenset())
    given = values.get("parameters")
    if isinstance(given, Mapping) and gone & given.keys():
        kept = {name: value for name, value in given.items() if name not in gone}
        values = {**values, "parameters": kept}
    if "attempt_seconds" not in values:
        return values
    found: dict[str, Any] = _DEFAULTS_OF_THEN | dict(values)
    budget = Budget.model_validate(found.pop("budget", {}))
    found |= {
        "minutes": NONE if budget.seconds is None else budget.seconds / 60,
        "max_usd": NONE if budget.usd is None else budget.usd,
        "max_tokens": budget.tokens,
        "closing_share": budget.closing_share,
        "closing_time_share": budget.closing_time_share,
        "attempt_minutes": found.pop("attempt_seconds") / 60,
        "cell_minutes": found.pop("cell_seconds") / 60,
        "packages": {"allow": found.pop("packages", ())},
        "pool": found.pop("pool", None) or None,
        "as_of": found.pop("as_of", None) or NONE,
    }
    return found
