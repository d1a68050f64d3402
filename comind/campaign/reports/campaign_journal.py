"""Write the journal of a campaign as Markdown: its attempts as a tree, by parent."""

from collections import defaultdict
from collections.abc import Iterator

from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work_items import Attempt
from comind.campaign.reports.tuning import Tuning
from comind.domain.value import one_line

_LENGTH = 300
_MOST_STEPS = 12  # listed for one attempt
_MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_<>[]|#!"})


def journal_of(state: CampaignState) -> str:
    """Return the journal as Markdown."""
    return "\n".join([f"# {state.spec.id}", "", "## Attempts", "", *attempt_lines(state), ""])


def closing_notes(state: CampaignState, tuning: Tuning) -> str:
    """Return the sections on folds, blend, pick and refit, and on the validation rows, as Markdown."""
    used = [f"{tuning} on {tuning.rows} rows"] if tuning.gradings else []
    warnings = state.split.warnings if state.split else ()
    sections = {"The end": _closing(state), "Validation": [*warnings, *used, *tuning.warnings]}
    found = []
    for heading, lines in sections.items():
        found += ["", f"## {heading}", "", *(f"- {plain(line)}" for line in lines), ""] if lines else []
    return "\n".join(found)


def attempt_lines(state: CampaignState) -> Iterator[str]:
    """Yield a line for each attempt or blend in order of planning, indented below its first parent."""
    known, children = set(), defaultdict(list)
    for attempt in state.works.rankable():
        parents = [parent for parent in attempt.work.parents if parent in known]
        children[parents[0] if parents else ""].append(attempt)
        known.add(attempt.id)
    waiting = [(attempt, "") for attempt in reversed(children[""])]
    while waiting:
        attempt, indent = waiting.pop()
        yield indent + _line(attempt)
        waiting += [(child, indent + "  ") for child in reversed(children[attempt.id])]


def step_lines(state: CampaignState) -> Iterator[str]:
    """Yield the steps of each attempt, a line each with its score or error, and its report."""
    for attempt in state.works.attempts():
        cells = attempt.outcome.cells if attempt.outcome else ()
        if not cells:
            continue
        yield f"### {attempt.id}: {plain(attempt.title)}"
        yield ""
        for cell in cells[:_MOST_STEPS]:
            failed = "failed: " if cell.failed else ""
            yield f"- step {cell.step}: {plain(cell.goal)}: {failed}{plain(cell.result)}"
        if len(cells) > _MOST_STEPS:
            yield f"- and {len(cells) - _MOST_STEPS} steps more"
        reported = attempt.outcome.report.splitlines() if attempt.outcome else []
        yield from ["", *(_item(line) for line in reported if line.strip()), ""]


def _closing(state: CampaignState) -> list[str]:
    """Return a line each on folds, blend, final pick and refit, as far as they have run."""
    fold_plan, judged, picked, refit = state.fold_plan, state.judged, state.picked, state.refit()
    found = []
    if fold_plan is not None:
        ran = (
            f"up to {fold_plan.folds} for {', '.join(fold_plan.runners)}"
            if fold_plan.runners
            else "none"
        )
        found.append(f"folds: {'; '.join(filter(None, (ran, fold_plan.reason, *fold_plan.left_out)))}")
    if judged is not None:
        found.append(f"blend: {judged.blend or f'none, {judged.reason}'}")
    if picked is not None:
        found.append(f"final pick: {picked.work_id}, {picked.reason}")
        found += [picked.evidence] if picked.evidence else []
    if picked is not None and refit is not None:
        found.append(f"{refit.id}: the same program, run again on all labelled rows")
    return found


def _item(line: str) -> str:
    return f"- {plain(line[2:])}" if line.startswith("- ") else f"{plain(line)}\n"


def _line(attempt: Attempt) -> str:
    draft = attempt.work.draft
    sources = f", from {plain(', '.join(draft.sources))}" if draft.sources else ""
    strategy = f" ({plain(draft.strategy)})" if draft.strategy else ""
    return f"- {attempt.id}{strategy}: {plain(attempt.title)}{sources}: {plain(attempt.result)}"


def plain(text: str) -> str:
    """Truncate text to one short line, with Markdown markup escaped."""
    return one_line(text, _LENGTH).translate(_MARKS)
