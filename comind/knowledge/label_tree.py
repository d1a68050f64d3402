"""Choose labels of a task or an entry: top-level categories first, then labels below each of them."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Protocol, TypeVar

import yaml
from pydantic import BaseModel, Field

from comind.errors import ReplyError
from comind.llm.exchange import Answer
from comind.llm.model_ports import Message, ModelRequest
from comind.llm.templates import Templates

__all__ = ["GENERAL", "TEMPLATES", "Ask", "choose_labels", "label_tree"]

TEMPLATES = Templates("comind.knowledge")
GENERAL = "general machine learning"
T = TypeVar("T", bound=BaseModel)

_MOST_TOP, _MOST_BELOW, _REPLY_TOKENS = 2, 3, 300


class Ask(Protocol):
    """Sends a request to a model and parses its reply, as `context.ask` does."""

    def __call__(self, prompt: ModelRequest, reply_type: type[T]) -> Answer[T]:
        """Return the reply as a `reply_type`; raises ReplyError if it is none."""


class Categories(BaseModel):
    """Top-level categories."""

    numbers: list[int] = Field(description="numbers of the categories, the most relevant first")


class Labels(BaseModel):
    """Labels below some categories."""

    numbers: list[int] = Field(description="numbers of the labels, the most relevant first")


@cache
def label_tree() -> Mapping[str, tuple[str, ...]]:
    """Return the labels by top-level category."""
    found = yaml.safe_load(Path(__file__).with_name("labels.yaml").read_text(encoding="utf-8"))
    return {category: tuple(labels) for category, labels in found.items()}


def choose_labels(ask: Ask, role: str, text: str) -> tuple[str, ...]:
    """Return labels `category/label` of a text by a model, the most relevant first, then categories.

    Empty if its replies are invalid or name no category.
    """
    tree = label_tree()
    try:
        tops = _chosen(ask, role, Categories, text, list(tree))[:_MOST_TOP]
        below = [f"{top}/{label}" for top in tops for label in tree[top]]
        labels = _chosen(ask, role, Labels, text, below)[:_MOST_BELOW] if below else []
    except ReplyError:
        return ()
    return (*labels, *tops)


def _chosen(
    ask: Ask, role: str, reply_type: type[Categories] | type[Labels], text: str, options: Sequence[str]
) -> list[str]:
    """Return the options that a model names by number, in its order."""
    prompt = TEMPLATES.render(reply_type.__name__.lower(), text=text, options=options)
    message = Message(role="user", content=prompt)
    request = ModelRequest(role=role, messages=(message,), max_tokens=_REPLY_TOKENS, temperature=0.0)
    numbers = dict.fromkeys(ask(request, reply_type).value.numbers)
    return [options[number - 1] for number in numbers if 0 < number <= len(options)]
