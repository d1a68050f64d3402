"""Search a knowledge base for a task: by its labels, then by similarity."""

from collections.abc import Sequence
from typing import Any, Protocol

from comind.domain.problem import Problem
from comind.domain.value import Value
from comind.knowledge.knowledge_base import Entry
from comind.knowledge.label_tree import GENERAL, choose_labels
from comind.llm.exchange import Answer
from comind.llm.model_ports import ModelRequest
from comind.llm.tokens import shorten
from comind.llm.truncate_description import truncate_description

_ROLE = "retriever"
_TITLE_TOKENS, _QUERY_TOKENS, _MOST_FOUND = 60, 600, 24
_TASK_SHARE, _TASK_TOKENS = 0.06, 1_500  # of the context window, and at most


class Found(Value):
    """Entries for a task, the best first."""

    labels: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()


class SearchContext(Protocol):
    """Part of a `ThinkContext` that a search uses."""

    @property
    def context_tokens(self) -> int:
        """Context window of the model."""
        ...

    def ask(self, prompt: ModelRequest, reply_type: type[Any]) -> Answer[Any]:
        """Return the parsed reply of a model."""
        ...

    def rank(self, query: str, texts: Sequence[str], *, top: int) -> tuple[int, ...]:
        """Return the indices of the `top` texts nearest to `query`."""
        ...


def text_of_task(problem: Problem, context_tokens: int) -> str:
    """Return title, description, kind of data and metric of a task, truncated."""
    task = truncate_description(
        problem.description, min(int(_TASK_SHARE * context_tokens), _TASK_TOKENS)
    )
    title = shorten(problem.title, _TITLE_TOKENS)
    return f"{title}\n\n{task}\n\nData: {problem.shape}. Metric: {problem.metric}."


def find_entries(problem: Problem, entries: Sequence[Entry], context: SearchContext) -> Found:
    """Return the entries for a task: in the order of its labels, by similarity among equals.

    A model of the role `retriever` chooses the labels; without any, all entries are ranked. Labels are
    of data, so a problem whose submissions are programs gets entries without labels.
    """
    text = text_of_task(problem, context.context_tokens)
    if problem.program:
        entries = [each for each in entries if not each.labels]
    labels = () if problem.program else choose_labels(context.ask, _ROLE, text)
    order = (*labels, GENERAL)
    related = [each for each in entries if not labels or _priority(each, order) < len(order)]
    texts = [f"{each.title}\n{each.text}" for each in related]
    near = context.rank(shorten(text, _QUERY_TOKENS), texts, top=len(texts)) if texts else ()
    ranked = sorted((related[number] for number in near), key=lambda each: _priority(each, order))
    return Found(labels=labels, entries=tuple(ranked[:_MOST_FOUND]))


def _priority(entry: Entry, labels: Sequence[str]) -> int:
    """Return the index of the first of `labels` that an entry has; a category covers its labels.

    An entry without labels is general.
    """
    for number, label in enumerate(labels):
        if any(own == label or own.startswith(f"{label}/") for own in entry.labels or (GENERAL,)):
            return number
    return len(labels)
