"""Places for sessions: the port, and plug-ins in the entry-point group `comind.sessions`."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol, cast

from comind.campaign.log.campaign_folders import CampaignFolder, WorkFolder
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.campaign.log.work import Code
from comind.session.session_ports import CellResult, Input, Sandbox, Session
from comind.system.plug_ins import SESSIONS, load_plug_in
from comind.wiring.local_sessions import LocalSessions

_POOL = "pool"


class SessionProvider(Protocol):
    """Opens the sessions of one campaign."""

    def open(
        self,
        work: Code,
        folder: WorkFolder,
        inputs: tuple[Input, ...],
        sandbox: Sandbox,
        *,
        own_code: bool,
        seconds_left: float,
        notify: Callable[[str], None],
    ) -> Session:
        """Open the session of an attempt.

        Args:
            work: the attempt.
            folder: its folder.
            inputs: what its code reads.
            sandbox: the strongest sandbox of this machine that the user allows.
            own_code: whether only CoMind's own code runs in it.
            seconds_left: the campaign's remaining time.
            notify: called with the reason while it waits for a machine.

        Raises:
            DeadlineExceeded: no machine was free in the attempt's time.
            SandboxError: it cannot be opened.
            NodeLostError: the machine was lost before the session was open.
        """
        ...

    def run_script(
        self,
        work: Code,
        folder: WorkFolder,
        inputs: tuple[Input, ...],
        sandbox: Sandbox,
        arguments: tuple[str, ...],
        workspace: Path,
        seconds: float,
    ) -> CellResult:
        """Run `python ARGUMENTS` in a fresh interpreter, with inputs and packages of an attempt.

        Raises:
            SandboxError: the sandbox could not be started.
        """
        ...


class PoolPlugIn(Protocol):
    """Sessions on the machines of a pool; the object that the entry point `pool` names."""

    def provide(
        self, pool: str, campaign: CampaignFolder, spec: CampaignSpec, settings: Mapping[str, Any]
    ) -> AbstractContextManager[SessionProvider]:
        """Provide sessions for the length of the block; `settings` are `nodes` of params.yaml.

        Raises:
            UsageError: there is no such pool, or a setting is wrong.
        """
        ...

    def checks(self, pool: str, settings: Mapping[str, Any]) -> Iterable[tuple[str, Callable[[], str]]]:
        """Return what `comind doctor` checks: a name, and what returns the finding, or raises."""
        ...


def load_pools() -> PoolPlugIn:
    """Import the plug-in for pools.

    Raises:
        UsageError: none or several are installed, or it cannot be loaded.
        ServiceError: a package of its extra is not installed.
    """
    return cast("PoolPlugIn", load_plug_in(SESSIONS, _POOL, "plug-in for sessions"))


def provide_sessions(
    campaign: CampaignFolder, spec: CampaignSpec, settings: Mapping[str, Any]
) -> AbstractContextManager[SessionProvider]:
    """Provide the sessions of a campaign, on its pool or on this machine, for the length of the block.

    Raises:
        UsageError: the pool has no plug-in, or refuses.
        ServiceError: a package of the plug-in's extra is not installed.
    """
    if not spec.pool:
        return nullcontext(LocalSessions(spec))
    return load_pools().provide(spec.pool, campaign, spec, settings)
