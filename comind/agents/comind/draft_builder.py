"""Build drafts from what a model proposed and the facts of the round."""

import re
from collections.abc import Sequence
from typing import Any

from rapidfuzz import fuzz
from rapidfuzz.utils import default_process

from comind.agents.comind.adapt import MAX_CHARACTERS
from comind.agents.comind.draft_kinds import as_earlier, duplicate_of
from comind.agents.comind.draft_replies import EXTEND, TITLE_LENGTH, DraftIdea, members, needs
from comind.agents.comind.ensembles import ENSEMBLE
from comind.agents.comind.memos import IdeaMemo
from comind.agents.comind.thoughts import Drafting
from comind.domain.community import CommunityView
from comind.domain.draft import Draft

_NEARLY = 90  # similarity of idea and method, of 100, above which the method contains the idea


def _contains(method: str, idea: str) -> bool:
    """Whether a method has nearly all words of an idea, ignoring numbers."""
    texts = (re.sub(r"\d[\d.,]*", " ", text) for text in (method, idea))
    return fuzz.token_set_ratio(*texts, processor=default_process) >= _NEARLY


class DraftBuilder:
    """Builds drafts from a model's reply and the facts of a round."""

    def __init__(self, view: CommunityView, facts: Drafting) -> None:
        self._starts = {each.id: each for each in facts.solutions}
        self._best = facts.best if facts.best in self._starts else ""
        self._notebooks = {each.ref: each for each in view.all_notebooks}
        self._ideas = facts.ideas
        self._earlier = facts.earlier
        self._datasets = {each.ref for each in facts.datasets}
        self._with_files = {each.ref for each in view.datasets if each.files}
        self._kinds = facts.kinds
        self._titles = {title.casefold() for title in facts.titles}

    def draft(self, proposed: DraftIdea, new: Sequence[IdeaMemo] = ()) -> Draft:
        """Convert a proposed draft: look up ids, and add the code that it starts from.

        The `new` ideas of the same reply are numbered on from those that the prompt shows.
        """
        known_ideas = (*self._ideas, *new)
        ideas = [known_ideas[n - 1] for n in proposed.ideas if 0 < n <= len(known_ideas)]
        combined = members(proposed)
        start = "" if combined else self._start(proposed)
        base = self._base(start)
        datasets = [ref for ref in proposed.datasets if ref in self._datasets]
        came_from = [start] if base else combined
        parts = [proposed.method.strip()]
        missing = [idea.text for idea in ideas if not _contains(proposed.method, idea.text)]
        if missing:
            heading = "Ideas to use (where numbers differ, those above hold):"
            parts.append("\n".join([heading, *(f"- {text}" for text in missing)]))
        if proposed.code.strip():
            parts.append(f"Essential code:\n\n```python\n{proposed.code.strip()}\n```")
        wanted = needs(proposed)
        given = wanted.limited_to(self._kinds)
        if given != wanted:
            parts.append(f"It was proposed for a machine with {wanted}; it runs on one with {given}.")
        known = self._starts.get(start)
        mounted = [start, *(known.inputs if known else ())] if base else combined
        if start in self._notebooks:  # the datasets that it reads
            datasets += [ref for ref in self._notebooks[start].datasets if ref in self._with_files]
        return Draft(
            title=" ".join(proposed.title.split())[:TITLE_LENGTH],
            strategy=ENSEMBLE if combined else proposed.strategy.strip().lower(),
            members=tuple(combined),
            method="\n\n".join(parts),
            sources=tuple(dict.fromkeys([*(idea.id for idea in ideas), *came_from, *datasets])),
            inputs=tuple(dict.fromkeys([*mounted, *datasets])),
            needs=given,
            **base,
        )

    def distinct(self, drafts: list[Draft]) -> tuple[list[Draft], list[str]]:
        """Drop drafts whose title or method was tried before or is another draft's; return why, too."""
        kept, refused = list[Draft](), list[str]()
        taken, known = set(self._titles), list(self._earlier)
        for draft in drafts:
            title = draft.title.casefold()
            same = duplicate_of(draft, known)
            if title in taken or same:
                why = f"is nearly the method of {same}" if same else "was tried before or comes twice"
                refused.append(f'"{draft.title}" {why}')
                continue
            taken.add(title)
            known.append(as_earlier(draft, draft.title))
            kept.append(draft)
        return kept, refused

    def _start(self, proposed: DraftIdea) -> str:
        """Return what a draft starts from: the best solution if it extends, but does not say what."""
        named = proposed.start_from.strip()
        extends = proposed.strategy.strip().lower() == EXTEND
        known = named in self._starts or named in self._notebooks
        return named if known or not extends else self._best

    def _base(self, start: str) -> dict[str, Any]:
        """Return a draft's fields on the code that it starts from; empty for an unknown id.

        A public notebook is unchanged: the attempt adapts it.
        """
        if start in self._starts:
            known = self._starts[start]
            return {
                "codebase": known.code,
                "codebase_seconds": known.seconds,
                "codebase_result": known.result,
            }
        if start in self._notebooks:
            found = self._notebooks[start]
            return {"codebase": found.source[:MAX_CHARACTERS], "notebook": found.language}
        return {}
