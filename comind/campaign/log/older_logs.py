"""Upgrade what former revisions have logged: the one place with former names and defaults."""

from collections.abc import Mapping
from typing import Any

from comind.campaign.log.campaign_settings import NONE
from comind.domain.spend import Budget

_TYPES = {"finalists-left": "fold-finished"}
_FIELDS = {"aside": "scratch", "edition": "opening_version", "going_on": "continuing"}
"""Former and present names."""

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
        found["work"] = {_FIELDS.get(name, name): value for name, value in work.items()}
    return found


def upgrade_spec(values: Any) -> Any:
    """Return a campaign's specification in the present form; its limits were in a `budget`."""
    if not isinstance(values, Mapping) or "attempt_seconds" not in values:
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
