"""Install distributions that declare agents into a folder on the import path."""

import shutil
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from comind.system import plug_ins

AGENT = '''
from pydantic import Field

from comind.campaign.agent import Agent, Role
from comind.campaign.log.outcome import CodeResult
from comind.campaign.log.work import Done
from comind.domain.value import Value
from comind.llm.settings import ModelSettings


class Parameters(Value):
    width: int = Field(default=2, ge=1, description="drafts side by side")
    mode: str = "plain"


class Plugged(Agent):
    """Plans nothing."""

    parameters = Parameters
    roles = {"weaver": Role("weaves", ModelSettings(temperature=0.3))}

    def plan(self, state):
        return Done(reason="nothing to do")

    def code(self, work, bench):
        return CodeResult()
'''
"""An agent that can be loaded."""


class Installed:
    """A folder of installed distributions."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._modules: list[str] = []

    def add(
        self,
        distribution: str,
        name: str,
        source: str = AGENT,
        *,
        version: str = "1.0",
        group: str = "comind.agents",
        attribute: str = ":Plugged",
    ) -> None:
        """Install a distribution with one plug-in; its module is named after the distribution."""
        module = distribution.replace("-", "_")
        (self._folder / f"{module}.py").write_text(textwrap.dedent(source))
        described = self._folder / f"{module}-{version}.dist-info"
        described.mkdir()
        (described / "METADATA").write_text(f"Name: {distribution}\nVersion: {version}\n")
        (described / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}{attribute}\n")
        self._modules.append(module)
        self.forget()

    def forget(self) -> None:
        """Clear the caches of installed distributions."""
        import importlib

        importlib.invalidate_caches()
        plug_ins.declared.cache_clear()

    def remove(self) -> None:
        """Uninstall everything."""
        shutil.rmtree(self._folder)
        for module in self._modules:
            sys.modules.pop(module, None)
        self.forget()


@contextmanager
def installed(folder: Path) -> Iterator[Installed]:
    """Put a folder for distributions first on the import path, for the length of the block."""
    folder.mkdir()
    sys.path.insert(0, str(folder))
    plugins = Installed(folder)
    try:
        yield plugins
    finally:
        sys.path.remove(str(folder))
        plugins.remove()
