"""Prompts are files: found in their package, rendered strictly, known by their hash."""

import hashlib
import re
from functools import cached_property
from importlib import resources

from jinja2 import DictLoader, Environment, StrictUndefined

from comind.llm import truncate
from comind.llm.tokens import shorten

__all__ = ["Templates"]


class Templates:
    """The prompt files (`*.j2`) in the folder `prompts/` of a package.

    Filters beside those of Jinja: `fenced` makes a block of Python, `python` writes a value as Python
    does, `shorten(n)` cuts to n tokens, and `description(n)`, `prose(n)`, `code(n)`, `output(n)` and
    `traceback(n)` cut as befits such a text (`truncate.py`).
    """

    def __init__(self, package: str) -> None:
        """Read the files of `package`; nothing is cached on disk."""
        folder = resources.files(package) / "prompts"
        self._sources = {
            entry.name.removesuffix(".j2"): entry.read_text(encoding="utf-8")
            for entry in folder.iterdir()
            if entry.name.endswith(".j2")
        }

    def render(self, name: str, **values: object) -> str:
        """Return the prompt `name` with its values filled in.

        Raises:
            KeyError: there is no such prompt.
            jinja2.UndefinedError: a value that the prompt uses is not given.
        """
        if name not in self._sources:
            raise KeyError(name)
        return self._environment.get_template(name).render(values).strip()

    @cached_property
    def sha256(self) -> str:
        """Hash over all prompts of the package, for lineage."""
        whole = "\0".join(f"{name}\0{text}" for name, text in sorted(self._sources.items()))
        return hashlib.sha256(whole.encode()).hexdigest()

    @cached_property
    def _environment(self) -> Environment:
        environment = Environment(
            loader=DictLoader(self._sources),
            undefined=StrictUndefined,
            autoescape=False,  # noqa: S701 - prompts are plain text, not a page
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=False,
        )
        environment.filters.update(
            fenced=_fenced,
            python=repr,
            shorten=shorten,
            description=truncate.cut_description,
            prose=truncate.cut_prose,
            code=truncate.cut_code,
            output=truncate.cut_output,
            traceback=truncate.cut_traceback,
        )
        return environment


def _fenced(code: str) -> str:
    """Return a block of Python that its content cannot end, whatever fences are in it."""
    longest = max((len(run) for run in re.findall("`{3,}", code)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}python\n{code}\n{fence}"
