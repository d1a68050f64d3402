"""Select notes from the community for a node (CoMind paper, section 6.1: AIDE+Code and AIDE+RAG)."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, Field

from comind.agents.aide.coder import CODER, PROMPTS, parent_result
from comind.campaign.log.work import Code
from comind.campaign.work.context import CodeContext
from comind.domain.community import CommunityView, Discussion, Notebook
from comind.domain.draft import Operator
from comind.domain.problem import Problem
from comind.domain.value import Text
from comind.errors import ReplyError
from comind.llm.tokens import shorten

_Voted = TypeVar("_Voted", Notebook, Discussion)

_TITLES = 10  # notebooks, and as many discussions
_READ, _PASSAGES = 4, 3
_ITEM_LENGTH = 12_000  # characters of an item that are split into passages
_PASSAGE = re.compile(r".{1,2000}(?:\n|\Z)|.{1,2000}", re.DOTALL)
_QUERY_TOKENS, _PICK_TOKENS, _DIGEST_TOKENS = 300, 300, 800


class Note(NamedTuple):
    """The summary or a passage of a community item; untrusted."""

    title: str
    text: str


class Picks(BaseModel):
    """Which titles are worth reading."""

    numbers: list[int] = Field(description="numbers of the titles to read, the most useful first")


class Digest(BaseModel):
    """An item in short."""

    summary: Text = Field(description="what is useful in it for a program, in three to six sentences")


def by_votes(items: Sequence[_Voted]) -> list[_Voted]:
    """Sort notebooks or discussions by falling votes; stable."""
    return sorted(items, key=lambda each: -each.votes)


def notes_for(problem: Problem, view: CommunityView, work: Code, context: CodeContext) -> list[Note]:
    """Return a node's notes in the variant `rag`: for a draft what the model picks, else what is near.

    Near are the passages that rank first for the error to debug, or for plan and review to improve.
    """
    items = [Note(each.title, each.source) for each in by_votes(view.notebooks)[:_TITLES]]
    threads = by_votes(view.discussions)[:_TITLES]
    items += [Note(t.title, "\n\n".join([t.body, *(c.body for c in t.comments)])) for t in threads]
    if not items:
        return []
    if work.operator is Operator.DRAFT:
        return list(_picked(items, problem, context))
    cut = [(item.title, _PASSAGE.findall(item.text[:_ITEM_LENGTH])) for item in items]
    passages = [Note(title, part) for title, parts in cut for part in parts]
    draft, texts = work.draft, [f"{note.title}\n{note.text}" for note in passages]
    wanted = draft.method if work.operator is Operator.DEBUG else parent_result(work)
    near = context.rank(shorten(wanted, _QUERY_TOKENS), texts, top=_PASSAGES)
    return [passages[number] for number in near]


def _picked(items: Sequence[Note], problem: Problem, context: CodeContext) -> Iterator[Note]:
    """Yield summaries of the items that the model picks, without those that it fails to summarise."""
    titles = {"problem": problem, "titles": [item.title for item in items], "limit": _READ}
    try:
        picks = PROMPTS.ask(context, CODER, "pick", Picks, titles, most_tokens=_PICK_TOKENS)
    except ReplyError:
        return
    numbers = [number for number in dict.fromkeys(picks.numbers) if 0 < number <= len(items)]
    for item in (items[number - 1] for number in numbers[:_READ]):
        try:
            facts = {"problem": problem, "item": item}
            digest = PROMPTS.ask(context, CODER, "digest", Digest, facts, most_tokens=_DIGEST_TOKENS)
            yield Note(item.title, digest.summary)
        except ReplyError:
            continue
