"""Open a campaign's sessions on this machine, and run its scripts here."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from comind.campaign.log.campaign_folders import WorkFolder
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.campaign.log.work import Code, Think
from comind.campaign.log.work_state import WORK_LOG
from comind.domain.resources import MEMORY_SHARE
from comind.session.kernel_session import KernelSession
from comind.session.packages import PACKAGES_AT, Packages
from comind.session.program import run_program, thread_settings
from comind.session.session_ports import CellResult, Input, Sandbox
from comind.session.user_store import store_settings
from comind.system.hardware import usable_cores, usable_memory
from comind.system.leases import Cores, Gpus

_cores, _gpus = Cores(usable_cores()), Gpus()  # of the machine, shared by all processes


class LocalSessions:
    """Sessions that lease shares of this machine's cores and GPUs; a `SessionProvider`."""

    def __init__(self, spec: CampaignSpec) -> None:
        self._spec = spec

    def open(
        self,
        work: Code,
        folder: WorkFolder,
        inputs: tuple[Input, ...],
        sandbox: Sandbox,
        *,
        own_code: bool,  # noqa: ARG002 - of the port
        seconds_left: float,  # noqa: ARG002
        notify: Callable[[str], None],  # noqa: ARG002
    ) -> KernelSession:
        """Open a session at once; its share of cores and GPUs depends on the other running attempts."""
        # A resumed attempt keeps its thread count, which can change the last digits of results.
        threads = WORK_LOG.read(folder.log).threads or self._share()
        gpus = _gpus.lease(str(folder.root), self._at_once())
        settings = self._settings(sandbox, folder.workspace)
        return KernelSession(
            sandbox,
            folder.workspace,
            inputs=inputs,
            env={**settings, "CUDA_VISIBLE_DEVICES": ",".join(gpus)},
            memory_bytes=_memory_bytes(),
            log=folder.root / "session.log",
            persistent=work.session == "notebook",
            threads=_cores.lease(str(folder.root), threads),
            packages=Packages(folder.packages, folder.installed, allowed=self._spec.packages.allow),
        )

    def run_script(
        self,
        work: Code,  # noqa: ARG002 - of the port
        folder: WorkFolder,
        inputs: tuple[Input, ...],
        sandbox: Sandbox,
        arguments: tuple[str, ...],
        workspace: Path,
        seconds: float,
    ) -> CellResult:
        """Run `python ARGUMENTS`; see `SessionProvider.run_script`."""
        threads = WORK_LOG.read(folder.log).threads
        packages = (Input(folder.packages, PACKAGES_AT),) if folder.installed.is_file() else ()
        found_at = {"PYTHONPATH": PACKAGES_AT} if packages else {}
        settings = self._settings(sandbox, workspace)
        return run_program(
            sandbox,
            arguments,
            workspace,
            inputs=(*inputs, *packages),
            env={**settings, **found_at, **(thread_settings(threads) if threads else {})},
            seconds=seconds,
            memory_bytes=_memory_bytes(),
        )

    def _share(self) -> int:
        """Return the cores of each attempt where the user limits them; 0 for a share of what is free."""
        return 0 if self._spec.cores is None else max(1, self._spec.cores // self._at_once())

    def _at_once(self) -> int:
        return self._spec.attempts_at_once(usable_cores())

    def _settings(self, sandbox: Sandbox, workspace: Path) -> dict[str, str]:
        seen, _ = sandbox.paths_inside(workspace, workspace)
        return {"PYTHONHASHSEED": str(self._spec.seed), **store_settings(self._spec.store, seen)}


def _memory_bytes() -> int:
    return math.floor(usable_memory() * MEMORY_SHARE)


@contextmanager
def counted(work: Code | Think, folder: WorkFolder) -> Iterator[None]:
    """Count an attempt as running for the block, so that leases of cores and GPUs adapt."""
    if isinstance(work, Think):
        yield
        return
    name = str(folder.root)
    with _cores.holding(name), _gpus.holding(name):
        yield
