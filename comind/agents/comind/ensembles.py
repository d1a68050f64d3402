"""Decide when drafts may combine several solutions, and validate such drafts."""

from collections.abc import Sequence

from comind.agents.comind.thoughts import Comparison, Drafting
from comind.campaign.log.campaign_state import CampaignState

ENSEMBLE = "ensemble"
"""Kind of a draft that combines solutions."""

_ALIKE = 0.95  # correlation of errors from which combining solutions gains little
_LEAST, _MOST = 2, 5
_TITLE_LENGTH, _RESULT_LENGTH = 120, 80


def comparison_table(state: CampaignState) -> tuple[Comparison, ...]:
    """Return the latest comparison of errors, for attempts that have a score."""
    table = state.compared
    if table is None or table.reason:
        return ()
    found = []
    for work_id, row in zip(table.attempts, table.correlations, strict=True):
        attempt = state.works.attempt(work_id)
        out_of_fold = attempt.outcome.out_of_fold if attempt.outcome else None
        found.append(
            Comparison(
                id=work_id,
                title=attempt.title[:_TITLE_LENGTH],
                result=" ".join(attempt.result.split())[:_RESULT_LENGTH],
                out_of_fold=str(out_of_fold)[:_RESULT_LENGTH] if out_of_fold else "",
                correlations=row,
            )
        )
    return tuple(found)


def correlation_limit(table: Sequence[Comparison]) -> float | None:
    """Return the correlation of errors below which solutions may be combined; None if none is."""
    return _ALIKE if any(value < _ALIKE for each in table for value in each.correlations) else None


def invalid_ensembles(proposed: Sequence[tuple[str, Sequence[str]]], facts: Drafting) -> dict[int, str]:
    """Return the index of each invalid ensemble and why; at most one in a round is valid.

    `proposed` are title and members of each draft; other drafts have no members.
    """
    wrong, first = dict[int, str](), ""
    for number, (title, members) in enumerate(proposed):
        if not members:
            continue
        why = _refusal(members, facts)
        if not why and first:
            why = f'"{first}" is an ensemble already, and there is one at most'
        if why:
            wrong[number] = f'"{title}": {why}'
        else:
            first = title
    return wrong


def _refusal(members: Sequence[str], facts: Drafting) -> str:
    """Return why these solutions cannot be combined; empty if they can."""
    names = [each.id for each in facts.compared]
    unknown = [each for each in members if each not in names]
    if facts.alike is None:
        return "no solutions can be combined yet"
    if unknown:
        return f"{', '.join(unknown)}: no solution of the table of errors ({', '.join(names)})"
    if not _LEAST <= len(members) <= _MOST:
        return f"it combines {len(members)} solutions instead of two to five"
    numbers = sorted(names.index(each) for each in members)
    least = min(
        facts.compared[one].correlations[other]
        for place, one in enumerate(numbers)
        for other in numbers[:place]
    )
    if least >= facts.alike:
        return f"the errors of {', '.join(members)} go together by {least:g} and more"
    return ""
