"""The journal of a campaign, for people: its attempts as a tree, each below what it came from."""

from collections import defaultdict
from collections.abc import Iterator

from comind.campaign.state import CampaignState
from comind.campaign.tuning import Tuning
from comind.campaign.works import Attempt
from comind.domain.value import one_line

__all__ = ["attempt_lines", "journal_of", "plain", "validation_notes"]

_LENGTH = 300
_MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_<>[]|#!"})


def journal_of(state: CampaignState) -> str:
    """Return the journal as Markdown."""
    return "\n".join([f"# {state.spec.id}", "", "## Attempts", "", *attempt_lines(state), ""])


def validation_notes(state: CampaignState, tuning: Tuning) -> str:
    """Return what to know of scores on validation, as Markdown; nothing where nothing was scored."""
    used = [f"{tuning} on {tuning.rows} rows"] if tuning.gradings else []
    lines = [*(state.split.warnings if state.split else ()), *used, *tuning.warnings]
    if not lines:
        return ""
    return "\n".join(["", "## Validation", "", *(f"- {plain(line)}" for line in lines), ""])


def attempt_lines(state: CampaignState) -> Iterator[str]:
    """Yield a line for each attempt or blend, as they were planned, each below its first parent."""
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


def _line(attempt: Attempt) -> str:
    draft = attempt.work.draft
    sources = f", from {plain(', '.join(draft.sources))}" if draft.sources else ""
    kind = f" ({plain(draft.kind)})" if draft.kind else ""
    return f"- {attempt.id}{kind}: {plain(attempt.title)}{sources}: {plain(attempt.result)}"


def plain(text: str) -> str:
    """Return text as one short line that no Markdown reader takes for markup."""
    return one_line(text, _LENGTH).translate(_MARKS)
