"""The journal of a campaign, for people: its attempts as a tree, each below what it came from."""

from collections import defaultdict
from collections.abc import Iterator

from comind.campaign.state import CampaignState
from comind.campaign.works import Attempt
from comind.domain.value import one_line

__all__ = ["attempt_lines", "journal_of", "plain", "split_notes"]

_LENGTH = 300
_MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_<>[]|#!"})


def journal_of(state: CampaignState) -> str:
    """Return the journal as Markdown."""
    return "\n".join([f"# {state.spec.id}", "", "## Attempts", "", *attempt_lines(state), ""])


def split_notes(state: CampaignState) -> str:
    """Return what to know of scores on validation, and of the final pick, as Markdown."""
    warnings = state.split.warnings if state.split else ()
    lines = (
        [] if not warnings else ["", "## Validation", "", *(f"- {plain(line)}" for line in warnings), ""]
    )
    if state.picked is not None and state.picked.confidence is not None:
        told = (f"{state.picked.work_id}: {state.picked.reason}", state.picked.evidence)
        lines += ["", "## Final pick", "", *(f"- {plain(line)}" for line in told if line), ""]
    return "\n".join(lines)


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
