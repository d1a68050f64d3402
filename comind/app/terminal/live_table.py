"""Draw a running campaign as a table: score so far, attempts with step, time and cost, spend by role."""

from collections.abc import Mapping, Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from comind.app.terminal.long_steps import clock
from comind.campaign.log.event_lines import outcome_text
from comind.campaign.log.work_items import Attempt
from comind.campaign.log.work_state import AttemptState
from comind.campaign.reports.campaign_view import CampaignView
from comind.domain.spend import Budget, Spend
from comind.system.plurals import quantity

_BARS = "▁▂▃▄▅▆▇█"
_MOST_BARS = 40
_COLUMNS = ("attempt", "draft", "steps", "time", "cost", "best", "doing")
_TEXTS = ("best", "doing", "draft")  # the last one is left out first
_LEAST, _TITLE, _GAP = 12, 24, 2  # characters of a text, of a draft's title, between two columns


def live_table(view: CampaignView, columns: int = 100, step: str = "") -> Group:
    """Return the table of a campaign's attempts with its footer, no wider than `columns`.

    `step` is what the campaign waits for besides work.
    """
    state, spend = view.state, view.spend
    rows = [_cells(attempt, view.works[attempt.id]) for attempt in state.works.rankable()]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, width in _widths(rows, columns).items():
        right = name in ("time", "cost")
        table.add_column(name, no_wrap=True, width=width, justify="right" if right else "left")
    for row in rows:
        table.add_row(*(Text(row[str(column.header)]) for column in table.columns))
    left = "" if state.budget.seconds is None else f", {clock(state.seconds_left())} left"
    bars = sparkline([point.best.signed for point in view.curve if point.best is not None])
    best = f"{bars}{' ' if bars else ''}{_best_text(view)} · {view.tuning}"
    footer = f"{best} · {_spend_text(spend, state.budget)} · {clock(spend.seconds)}{left}"
    lines = [Text(_by_role(view), style="dim"), Text(footer, style="bold")]
    return Group(table, *lines, *([Text(step, style="dim")] if step else []))


def _cells(attempt: Attempt, work: AttemptState) -> dict[str, str]:
    """Return the cells of an attempt, by column."""
    doing = _activity(work) if attempt.outcome is None else outcome_text(attempt.outcome)
    if attempt.score is not None:  # the score has its own column
        doing = f"rejected by {attempt.rejected}" if attempt.rejected else "done"
    return {
        "attempt": attempt.id,
        "draft": attempt.title,
        "steps": f"{work.steps}/{attempt.work.budget.steps}",
        "time": clock(work.spend.seconds),
        "cost": f"${work.spend.usd:.2f}",
        "best": str(work.best_score) if work.best_score else "-",
        "doing": doing,
    }


def _widths(rows: Sequence[Mapping[str, str]], columns: int) -> dict[str, int]:
    """Return the width of each column that is shown.

    Ids, steps, times and costs are whole; texts share what is left, the draft's title least, and those
    without room for some words are left out.
    """
    needed = {name: max(len(name), *(len(row[name]) for row in rows), 0) for name in _COLUMNS}
    widths = {name: needed[name] for name in _COLUMNS if name not in _TEXTS}
    room = columns - sum(width + _GAP for width in widths.values()) + _GAP
    for name in _TEXTS:
        least = min(needed[name], _LEAST)
        if room >= least + _GAP:
            widths[name] = least
            room -= least + _GAP
    for name, most in (("best", columns), ("draft", _TITLE), ("doing", columns)):
        if name in widths:
            more = min(max(0, min(needed[name], most) - widths[name]), room)
            widths[name] += more
            room -= more
    return {name: widths[name] for name in _COLUMNS if name in widths}


def sparkline(values: Sequence[float]) -> str:
    """Return a bar for each value, higher for a greater one; the last 40, empty with fewer than two."""
    shown = values[-_MOST_BARS:]
    if len(shown) < 2:  # noqa: PLR2004
        return ""
    low, span = min(shown), max(shown) - min(shown)
    heights = [(value - low) / span if span else 0.0 for value in shown]
    return "".join(_BARS[round(height * (len(_BARS) - 1))] for height in heights)


def _spend_text(spend: Spend, budget: Budget) -> str:
    """Return tokens and dollars, with their limits where there are any, and limited evaluations."""
    cached = spend.cached_tokens / spend.prompt_tokens if spend.prompt_tokens else 0.0
    tokens = (
        f"{spend.tokens} tokens" if budget.tokens is None else f"{spend.tokens}/{budget.tokens} tokens"
    )
    usd = f"${spend.usd:.2f}" if budget.usd is None else f"${spend.usd:.2f} of ${budget.usd:.2f}"
    retries = f", {spend.retries} retries" if spend.retries else ""
    most = budget.evaluations
    graded = "" if most is None else f", {spend.evaluations} of {quantity(most, 'evaluation')}"
    return f"{tokens} ({cached:.0%} cached), {usd}{graded}{retries}"


def _by_role(view: CampaignView) -> str:
    """Return the spend of each role, in one line."""
    return " · ".join(
        f"{role} {spend.calls} calls, {spend.tokens} tokens, ${spend.usd:.2f}, "
        f"{spend.model_seconds:.0f} s"
        for role, spend in view.spend_by_role.items()
    )


def _best_text(view: CampaignView) -> str:
    """Return the final pick with its score, before it the best so far."""
    best = view.best
    if best is None:
        return view.choice
    name = "final pick" if view.state.picked else "best"
    return f"{name} {best.score} ({best.work_id}, step {best.submitted.step})"


def _activity(state: AttemptState) -> str:
    call, cell = state.open_call, state.cells.last
    if call is not None and call.cell is None:
        return f"retrying {call.model}" if call.failed_requests else f"calling {call.model}"
    if cell is None:
        return "waiting"
    if cell.ended is not None:
        return "reading the result"
    return cell.goal.splitlines()[0][:60] if cell.goal else "running a cell"
