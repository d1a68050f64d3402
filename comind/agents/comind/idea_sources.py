"""Resolve the labels by which replies name the sources of ideas.

Prompts label what they show: R1 is a report, I1 an idea of an earlier round, N1 a new idea. A reply
declares sources by these labels alone; nothing is inferred from its words.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from comind.agents.comind.memos import IdeaMemo, ReportMemo

_LABEL = re.compile(r"\W*([A-Z]\d+)\W*", re.IGNORECASE)
_MOST_UNKNOWN, _TEXT_KEPT = 20, 60


class Claim(NamedTuple):
    """The sources that a reply names for one idea."""

    text: str
    labels: Sequence[str]


class Sources:
    """Labels of a conversation, and the items and ideas that they stand for."""

    def __init__(self, reports: Sequence[ReportMemo], ideas: Sequence[IdeaMemo]) -> None:
        """Label the reports and remembered ideas that a prompt shows, in their order."""
        self._names: dict[str, tuple[str, ...]] = {
            **{f"R{number}": (report.item,) for number, report in enumerate(reports, start=1)},
            **{f"I{number}": (idea.id,) for number, idea in enumerate(ideas, start=1)},
        }

    def with_new(self, claims: Sequence[Claim]) -> list[str]:
        """Label new ideas, which stand for their own sources; return their labels."""
        new = {f"N{number}": self.of(claim.labels) for number, claim in enumerate(claims, start=1)}
        self._names |= new
        return list(new)

    def of(self, labels: Iterable[str]) -> tuple[str, ...]:
        """Return the items and ideas behind labels, each once; unknown labels are left out."""
        found = (name for label in labels for name in self._names.get(_clean(label), ()))
        return tuple(dict.fromkeys(found))

    def known_among(self, labels: Iterable[str]) -> list[str]:
        """Return the labels that exist."""
        return [label for label in map(_clean, labels) if label in self._names]

    def unknown(self, claims: Iterable[Claim]) -> tuple[str, ...]:
        """Return the labels that do not exist, each with the idea that names it."""
        found = (
            f'{_clean(label)[:_TEXT_KEPT]}, named by "{" ".join(claim.text.split())[:_TEXT_KEPT]}"'
            for claim in claims
            for label in claim.labels
            if _clean(label) not in self._names
        )
        return tuple(dict.fromkeys(found))[:_MOST_UNKNOWN]

    @property
    def known(self) -> str:
        """The labels that exist, as ranges."""
        kinds = (list(group) for _, group in groupby(self._names, key=lambda label: label[0]))
        return ", ".join(f"{kind[0]} to {kind[-1]}" if kind[1:] else kind[0] for kind in kinds)


def _clean(label: str) -> str:
    """Return a label in its usual form, without brackets."""
    found = _LABEL.fullmatch(label)
    return found[1].upper() if found else " ".join(label.split())
