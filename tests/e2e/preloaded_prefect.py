"""Import Prefect into the process that others are forked from.

Prefect reads its settings when it is imported, and commands set them before. So its modules are put
aside here, and put back at the first import of Prefect in a forked process, which reads them anew.
"""

import importlib
import os
import sys
import tempfile
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType

__all__: list[str] = []

_MODULES = [
    *("prefect", "prefect.client.orchestration", "prefect.deployments.runner", "prefect.events.worker"),
    *("prefect.task_engine", "prefect.task_runners"),
]


class _Preloaded(MetaPathFinder, Loader):
    """Provides the modules of Prefect that are loaded now to the next import of Prefect."""

    def __init__(self) -> None:
        names = [name for name in sys.modules if name.partition(".")[0] == "prefect"]
        self._modules = {name: sys.modules.pop(name) for name in names}
        self._spec = self._modules["prefect"].__spec__

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - part of the protocol
        target: ModuleType | None = None,  # noqa: ARG002 - part of the protocol
    ) -> ModuleSpec | None:
        """Return a spec for the package, which the import of each of its modules asks for first."""
        return spec_from_loader(fullname, self, is_package=True) if fullname == "prefect" else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:  # noqa: ARG002 - part of the protocol
        """Return the loaded package."""
        return self._modules["prefect"]

    def exec_module(self, module: ModuleType) -> None:
        """Put all modules back, and read settings and logging from the environment of this process."""
        sys.meta_path.remove(self)
        sys.modules.update(self._modules)
        module.__spec__ = self._spec
        from prefect.context import refresh_global_settings_context
        from prefect.logging.configuration import setup_logging

        refresh_global_settings_context()
        setup_logging(incremental=False)


def _preload() -> None:
    """Import Prefect with a temporary home, as it makes one, and put it aside."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="comind-prefect-") as home:
        # A thread of Prefect that starts before a process has read its settings uses these.
        own_server = {"PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false"}
        os.environ |= {"PREFECT_HOME": home, "PREFECT_SERVER_ANALYTICS_ENABLED": "false"} | own_server
        for name in _MODULES:
            importlib.import_module(name)
    os.environ.clear()
    os.environ.update(before)
    sys.meta_path.insert(0, _Preloaded())


_preload()
