"""Render prompt templates: Jinja files of a package, with undefined values as errors."""

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from importlib import resources
from typing import NamedTuple

from jinja2 import DictLoader, Environment, StrictUndefined

from comind.llm.tokens import shorten
from comind.llm.truncate_code import truncate_code
from comind.llm.truncate_description import truncate_description
from comind.llm.truncate_output import truncate_output, truncate_traceback
from comind.llm.truncate_prose import truncate_prose

_HEADER = re.compile(r"\{#-?\s*(.*?)\s*-?#\}", re.DOTALL)


class Rendering(NamedTuple):
    """A template with values."""

    package: str
    name: str
    header: str
    """The comment at its top: who reads it, and what the reply decides."""
    text: str


_renderings: ContextVar[list[Rendering] | None] = ContextVar("renderings", default=None)


@contextmanager
def collect_renderings() -> Iterator[list[Rendering]]:
    """Collect what is rendered in this thread meanwhile; a collection around this one gets it, too."""
    around, collected = _renderings.get(), list[Rendering]()
    token = _renderings.set(collected)
    try:
        yield collected
    finally:
        _renderings.reset(token)
        if around is not None:
            around += collected


class Templates:
    """The prompt templates (`*.j2`) in the folder `prompts/` of a package.

    Filters beside those of Jinja: `fenced` makes a block of Python, `python` is `repr`, `shorten(n)`
    truncates the middle to n tokens, and `description(n)`, `prose(n)`, `code(n)`, `output(n)` and
    `traceback(n)` truncate by the kind of text (`truncate_*.py`).
    """

    def __init__(self, package: str, platform: str = "", **filters: Callable[..., str]) -> None:
        """Read the templates of `package`, which have these filters, too.

        They may include those of the package `platform`, as `platform/NAME`.
        """
        self._package, self._filters = package, filters
        self._sources = _read(package) | {
            f"platform/{name}": text for name, text in (_read(platform) if platform else {}).items()
        }

    def render(self, name: str, **values: object) -> str:
        """Render the template `name`.

        Raises:
            KeyError: there is no such template.
            jinja2.UndefinedError: a value that the template uses is missing.
        """
        if name not in self._sources:
            raise KeyError(name)
        text = self._environment.get_template(name).render(values).strip()
        if (collected := _renderings.get()) is not None:
            header = _HEADER.match(self._sources[name])
            collected.append(Rendering(self._package, name, header[1] if header else "", text))
        return text

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of all templates of the package, for lineage."""
        whole = "\0".join(f"{name}\0{text}" for name, text in sorted(self._sources.items()))
        return hashlib.sha256(whole.encode()).hexdigest()

    @cached_property
    def _environment(self) -> Environment:
        environment = Environment(
            loader=DictLoader(self._sources),
            undefined=StrictUndefined,
            autoescape=False,  # noqa: S701 - prompts are plain text, not HTML
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters.update(
            fenced=_fenced,
            python=repr,
            shorten=shorten,
            description=truncate_description,
            prose=truncate_prose,
            code=truncate_code,
            output=truncate_output,
            traceback=truncate_traceback,
            **self._filters,
        )
        return environment


def _read(package: str) -> dict[str, str]:
    """Return the templates of a package by name."""
    folder = resources.files(package) / "prompts"
    return {
        entry.name.removesuffix(".j2"): entry.read_text(encoding="utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith(".j2")
    }


def _fenced(code: str) -> str:
    """Return a fenced block of Python whose fence is longer than any in its content."""
    longest = max((len(run) for run in re.findall("`{3,}", code)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}python\n{code}\n{fence}"
