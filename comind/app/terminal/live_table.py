"""Draw a running campaign as a table: score so far, attempts with step, time and cost, spend by role."""

from collections.abc import Mapping, Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from comind.app.terminal.long_steps import clock
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.event_lines import outcome_text
from comind.campaign.log.work_state import AttemptState
from comind.campaign.reports.call_costs import spend_by_role
from comind.campaign.reports.tuning import tuning_of
from comind.domain.spend import Budget, Spend

_BARS = "▁▂▃▄▅▆▇█"
_MOST_BARS = 40


def live_table(state: CampaignState, works: Mapping[str, AttemptState]) -> Group:
    """Return the table of a campaign's attempts with its footer; `works` are states of work by id."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("attempt", "draft", "steps", "time", "cost", "best", "doing"):
        right = name in ("time", "cost")
        table.add_column(name, no_wrap=name != "draft", justify="right" if right else "left")
    for attempt in state.works.rankable():
        work = works[attempt.id]
        best = str(work.best_score) if work.best_score else "-"
        doing = _activity(work) if attempt.outcome is None else outcome_text(attempt.outcome)
        if attempt.score is not None:  # the score has its own column
            doing = f"rejected by {attempt.rejected}" if attempt.rejected else "done"
        steps = f"{work.steps}/{attempt.work.budget.steps}"
        cost = clock(work.spend.seconds), f"${work.spend.usd:.2f}"
        table.add_row(attempt.id, attempt.title, steps, *cost, best, doing)
    spend = sum((work.spend for work in works.values()), Spend())
    left = "" if state.budget.seconds is None else f", {clock(state.seconds_left())} left"
    bars = sparkline(_best_so_far(state))
    best = f"{bars}{' ' if bars else ''}{_best_text(state)} · {tuning_of(state, works)}"
    footer = f"{best} · {_spend_text(spend, state.budget)} · {clock(state.spend.seconds)}{left}"
    return Group(table, Text(_by_role(works), style="dim"), Text(footer, style="bold"))


def sparkline(values: Sequence[float]) -> str:
    """Return a bar for each value, higher for a greater one; the last 40, empty with fewer than two."""
    shown = values[-_MOST_BARS:]
    if len(shown) < 2:  # noqa: PLR2004
        return ""
    low, span = min(shown), max(shown) - min(shown)
    heights = [(value - low) / span if span else 0.0 for value in shown]
    return "".join(_BARS[round(height * (len(_BARS) - 1))] for height in heights)


def _best_so_far(state: CampaignState) -> list[float]:
    """Return the best score after each scored attempt, oldest first; greater is better."""
    best, found = None, list[float]()
    for attempt in state.works.rankable():
        if attempt.score is not None and not attempt.rejected:
            signed = attempt.score.value.signed
            best = signed if best is None else max(best, signed)
            found.append(best)
    return found


def _spend_text(spend: Spend, budget: Budget) -> str:
    """Return tokens and dollars, with their limits where there are any."""
    cached = spend.cached_tokens / spend.prompt_tokens if spend.prompt_tokens else 0.0
    tokens = (
        f"{spend.tokens} tokens" if budget.tokens is None else f"{spend.tokens}/{budget.tokens} tokens"
    )
    usd = f"${spend.usd:.2f}" if budget.usd is None else f"${spend.usd:.2f} of ${budget.usd:.2f}"
    retries = f", {spend.retries} retries" if spend.retries else ""
    return f"{tokens} ({cached:.0%} cached), {usd}{retries}"


def _by_role(works: Mapping[str, AttemptState]) -> str:
    """Return the spend of each role, in one line."""
    found = spend_by_role(call for work in works.values() for call in work.calls)
    return " · ".join(
        f"{role} {spend.calls} calls, {spend.tokens} tokens, ${spend.usd:.2f}, "
        f"{spend.model_seconds:.0f} s"
        for role, spend in found.items()
    )


def _best_text(state: CampaignState) -> str:
    """Return the final pick with its score, before it the best attempt so far."""
    chosen = state.chosen()
    if chosen is None:
        return "nothing scored yet"
    return f"{'final pick' if state.picked else 'best'} {chosen.score} ({chosen.id})"


def _activity(state: AttemptState) -> str:
    call, cell = state.open_call, state.cells.last
    if call is not None and call.cell is None:
        return f"retrying {call.model}" if call.failed_requests else f"calling {call.model}"
    if cell is None:
        return "waiting"
    if cell.ended is not None:
        return "reading the result"
    return cell.goal.splitlines()[0][:60] if cell.goal else "running a cell"
