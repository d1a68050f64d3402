"""Prompts are files: found in their package, rendered strictly, known by their hash."""

import hashlib
from functools import cached_property
from importlib import resources

from jinja2 import DictLoader, Environment, StrictUndefined

__all__ = ["Templates"]


class Templates:
    """The prompt files (`*.j2`) in the folder `prompts/` of a package."""

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
        return Environment(
            loader=DictLoader(self._sources),
            undefined=StrictUndefined,
            autoescape=False,  # noqa: S701 - prompts are plain text, not a page
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=False,
        )
