"""Choose labels of a task or an entry: top-level categories first, then labels below each of them."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, Field

from comind.errors import ReplyError
from comind.llm.exchange import Answer
from comind.llm.model_ports import Message, ModelRequest
from comind.llm.templates import Templates

TEMPLATES = Templates("comind.knowledge")
GENERAL = "general machine learning"
Ask = Callable[[ModelRequest, type[Any]], Answer[Any]]
"""Sends a request to a model and parses its reply, as `context.ask` does."""

_MOST_TOP, _MOST_BELOW, _REPLY_TOKENS = 2, 3, 300


class Labels(BaseModel):
    """A choice of categories, or of labels below some of them."""

    numbers: list[int] = Field(description="numbers from the list, the most relevant first")


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
        tops = _chosen(ask, role, "categories", text, list(tree))[:_MOST_TOP]
        below = [f"{top}/{label}" for top in tops for label in tree[top]]
        labels = _chosen(ask, role, "labels", text, below)[:_MOST_BELOW] if below else []
    except ReplyError:
        return ()
    return (*labels, *tops)


def _chosen(ask: Ask, role: str, template: str, text: str, options: Sequence[str]) -> list[str]:
    """Return the options that a model names by number, in its order."""
    prompt = TEMPLATES.render(template, text=text, options=options)
    messages = (Message(role="user", content=prompt),)
    request = ModelRequest(role=role, messages=messages, max_tokens=_REPLY_TOKENS, temperature=0.0)
    numbers = dict.fromkeys(ask(request, Labels).value.numbers)
    return [options[number - 1] for number in numbers if 0 < number <= len(options)]
