"""List a campaign's configuration, and how much of its budget was used."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from comind.campaign.log.campaign_settings import NONE
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.reports.campaign_view import CampaignView
from comind.campaign.reports.page.score_chart import duration
from comind.domain.value import one_line
from comind.system.plurals import quantity

_LINE = 400


@dataclass(frozen=True, slots=True)
class Fact:
    """A name with its value; `share` is the used part of a limit, if there is one."""

    name: str
    value: str
    share: float | None = None


def header_facts(view: CampaignView) -> list[Fact]:
    """Return metric, agent, models, seed, limits, budget, community and split, as far as known."""
    state, spend, (attempts, scored) = view.state, view.spend, view.attempts
    spec, split, budget = state.spec, state.split, state.budget
    others = {name: model.name for name, model in spec.models.items() if model.name != spec.model}
    roles = [f"{name} for {role}" for role, name in others.items() if name and role != "default"]
    evaluations = _used(
        "Evaluations", spend.evaluations, budget.evaluations, lambda value: f"{value:.0f}"
    )
    facts = [
        Fact(
            "Metric",
            f"{split.metric}, {'higher' if split.maximize else 'lower'} is better" if split else "",
        ),
        Fact("Agent", f"{spec.agent} ({spec.agent_origin})" if spec.agent_origin else spec.agent),
        Fact("Model", ", ".join([spec.model, *roles])),
        Fact("Seed", str(spec.seed)),
        Fact("Attempts", f"{scored} of {attempts} scored"),
        _used("Time", spend.seconds, budget.seconds, duration),
        _used("Tokens", spend.tokens, budget.tokens, lambda value: f"{value:,.0f}"),
        *([evaluations] if budget.evaluations else []),
        _used("Cost", spend.usd, budget.usd, lambda value: f"${value:.2f}"),
        Fact("Limits", _limits(state)),
        Fact("Community", _community(state)),
        Fact("Split", split.rule if split else ""),
    ]
    return [replace(each, value=one_line(each.value, _LINE)) for each in facts if each.value]


def _limits(state: CampaignState) -> str:
    spec = state.spec
    rounds = [] if spec.iterations is None else [quantity(spec.iterations, "round")]
    attempts = f"{quantity(state.attempts_at_once(), 'attempt')} at a time"
    steps = f"{quantity(spec.steps, 'step')} and {duration(spec.attempt_seconds)} each"
    return ", ".join([*rounds, attempts, steps])


def _used(name: str, spent: float, limit: float | None, shown: Callable[[float], str]) -> Fact:
    if limit is None:
        return Fact(name, shown(spent))
    return Fact(name, f"{shown(spent)} of {shown(limit)}", min(1.0, spent / limit) if limit else 1.0)


def _community(state: CampaignState) -> str:
    if state.community is None:
        return "none" if state.spec.community == NONE else ""
    read = state.community
    counts = (read.notebooks, "notebook"), (read.discussions, "discussion"), (read.datasets, "dataset")
    found = ", ".join(quantity(count, name) for count, name in counts if count) or "nothing"
    return f"{found}, {state.spec.visible_until()}"
