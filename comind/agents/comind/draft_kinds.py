"""Check by its content whether a draft is of the kind that it says, and whether it is a duplicate.

Two methods are compared by their words, without numbers: `token_set_ratio` of rapidfuzz, from 0 to 100,
which ignores order and repetition. Unrelated methods have about 50, different methods for one
competition 55 to 75.
"""

import re
from collections.abc import Sequence

from rapidfuzz import fuzz
from rapidfuzz.utils import default_process

from comind.agents.comind.draft_replies import EXTEND
from comind.agents.comind.thoughts import Asked, Drafting, Earlier
from comind.domain.draft import Draft

OTHER = "other"
"""Kind of a draft that is not what it says."""

FEASIBLE = 6
"""Least feasibility, of 10, of what a robust baseline uses."""

METHOD_COMPARED = 1_000
"""Characters of a method that are compared."""

_NEAR = 80  # similarity from which a method is not new
_SAME = 92  # similarity of whole texts from which a draft is a duplicate
_LEAST_WORDS = 8  # shorter methods say too little to be compared
_LEAST_DRAFTS = 2  # in a round, for which kinds are enforced
_NAME_LENGTH = 80  # characters of a title in a reason


def start_of(draft: Draft) -> str:
    """Return the solution or notebook that a draft starts from; empty for none."""
    return draft.inputs[0] if draft.codebase and draft.inputs else ""


def duplicate_of(draft: Draft, others: Sequence[Earlier]) -> str:
    """Return the name of a draft with the same start and nearly the same method; empty if there is none.

    What ended without a score may be tried again.
    """
    start, words = start_of(draft), _words(draft.method)
    for other in others:
        if other.scored and other.start == start and not draft.members:
            theirs = _words(other.method)
            if _comparable(words, theirs) and fuzz.token_sort_ratio(words, theirs) >= _SAME:
                return other.id
    return ""


def as_earlier(draft: Draft, title: str, *, scored: bool = True) -> Earlier:
    """Return what later drafts have to differ from."""
    name = f'"{title[:_NAME_LENGTH]}"'
    return Earlier(id=name, method=draft.method[:METHOD_COMPARED], start=start_of(draft), scored=scored)


def wrong_kind(draft: Draft, others: Sequence[Draft], facts: Drafting) -> str:
    """Return why a draft is not of its kind; empty if it is. `others` are those of its round."""
    start = start_of(draft)
    match draft.strategy:
        case "baseline":
            return _no_baseline(draft, start, facts)
        case "novel":
            return _not_novel(draft, start, others, facts)
        case "extend":
            return "" if draft.codebase else "it starts from nothing that it could extend"
        case "ensemble":
            return "" if draft.members else "it combines nothing"
        case _:
            return f"there is no kind {draft.strategy[:_NAME_LENGTH]}"


def check_kinds(
    drafts: Sequence[Draft], facts: Drafting, proposed: int = 0
) -> tuple[list[Draft], list[Asked], list[str]]:
    """Return the wanted drafts whose kinds hold, the kinds of the round that none has, and why.

    Of more drafts than wanted those of the most important kinds are kept; ensembles come last. As many
    kinds are enforced as there are drafts, or as were `proposed` with duplicates; of a single draft
    none. A draft whose kind does not hold extends what it starts from, or is of no kind.
    """
    checked, why = list[Draft](), dict[str, str]()
    for draft in drafts:
        wrong = wrong_kind(draft, [other for other in drafts if other is not draft], facts)
        if wrong:
            why.setdefault(draft.strategy, f'"{draft.title[:_NAME_LENGTH]}" is none: {wrong}')
        fallback = EXTEND if draft.codebase else OTHER
        checked.append(draft.model_copy(update={"strategy": fallback}) if wrong else draft)
    number = min(len(checked), facts.wanted)
    most = min(max(number, proposed), facts.wanted)
    enforced = facts.asked[:most] if most >= _LEAST_DRAFTS else ()
    kept = _one_of_each(checked, facts.asked, number)
    missing = [asked for asked in enforced if not any(_is(draft, asked) for draft in kept)]
    reasons = [f"no draft is the {asked} ({why.get(asked.name, 'none says so')})" for asked in missing]
    return sorted(kept, key=lambda draft: bool(draft.members)), missing, reasons


def _one_of_each(drafts: Sequence[Draft], asked: Sequence[Asked], number: int) -> list[Draft]:
    """Return `number` drafts in their order: the first of each kind, then others of the first kinds."""
    chosen = list[int]()
    for kind in asked:
        found = (n for n, draft in enumerate(drafts) if n not in chosen and _is(draft, kind))
        chosen += [n for n in [next(found, None)] if n is not None]
    others = [n for n in range(len(drafts)) if n not in chosen]
    others.sort(key=lambda n: _place(drafts[n], asked))
    return [drafts[n] for n in sorted([*chosen, *others][:number])]


def _place(draft: Draft, asked: Sequence[Asked]) -> int:
    """Return the place of a draft's kind among those asked for; the last one for others."""
    return next((place for place, each in enumerate(asked) if _is(draft, each)), len(asked))


def _is(draft: Draft, asked: Asked) -> bool:
    return draft.strategy == asked.name and asked.start in ("", start_of(draft))


def _no_baseline(draft: Draft, start: str, facts: Drafting) -> str:
    if draft.members or start not in ("", facts.baseline):
        return f"it starts from {start or ', '.join(draft.members)}"
    for source in draft.sources:
        feasibility = facts.feasibility.get(source, FEASIBLE)
        if feasibility < FEASIBLE and source != facts.baseline:
            numbers = (n for n, each in enumerate(facts.ideas, start=1) if each.id == source)
            name = next((f"idea {number}" for number in numbers), source)
            return f"it uses {name}, of feasibility {feasibility}, less than {FEASIBLE}"
    return ""


def _not_novel(draft: Draft, start: str, others: Sequence[Draft], facts: Drafting) -> str:
    if start and start in facts.lineage:
        return f"it starts from {start}, which the best solution comes from"
    known = [(each.id, each.method) for each in facts.earlier]
    known += [(f'"{each.title[:_NAME_LENGTH]}"', each.method) for each in others]
    words = _words(draft.method)
    for name, method in known:
        theirs = _words(method)
        if _comparable(words, theirs) and fuzz.token_set_ratio(words, theirs) >= _NEAR:
            return f"its method is nearly that of {name}"
    return ""


def _words(method: str) -> str:
    return default_process(re.sub(r"\d[\d.,]*", " ", method[:METHOD_COMPARED]))


def _comparable(one: str, other: str) -> bool:
    return min(len(set(one.split())), len(set(other.split()))) >= _LEAST_WORDS
