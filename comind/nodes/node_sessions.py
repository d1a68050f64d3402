"""Open an attempt's sessions on nodes, and run its script there."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from comind.campaign.log.campaign_folders import WorkFolder
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.campaign.log.outcome import DeadlineExceeded
from comind.campaign.log.work import Code
from comind.campaign.log.work_state import WORK_LOG
from comind.domain.draft import Operator
from comind.domain.resources import STORES
from comind.errors import NodeBusyError, NodeLostError, SandboxError
from comind.nodes.messages import OpenSession
from comind.nodes.remote_session import Nodes, RemoteSession, SessionRequest
from comind.session.packages import Packages
from comind.session.session_ports import CellResult, CellStatus, Input, Sandbox

_BUSY_SECONDS = 30.0  # before a node that lacked GPUs or memory is asked again
_MOST_FAILED = 5  # hosts in a row that fail before they connect
_TRIES = 3  # of a script whose node is lost
_SCRIPT = """
import subprocess, sys
_ended = subprocess.run([sys.executable, "-P", *{arguments!r}])
if _ended.returncode:
    raise RuntimeError(f"exit code {{_ended.returncode}}")
"""


class NodeSessions:
    """Opens sessions of one campaign on nodes; a `SessionProvider`."""

    def __init__(
        self,
        nodes: Nodes,
        spec: CampaignSpec,
        *,
        busy_seconds: float = _BUSY_SECONDS,
    ) -> None:
        """Prepare; a session that fits no node is offered again after `busy_seconds`."""
        self._nodes = nodes
        self._spec = spec
        self._busy_seconds = busy_seconds

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
    ) -> RemoteSession:
        """Open the session of an attempt; waits for a node until the attempt's time is over.

        The time of an attempt begins with its first session, as long as the campaign has time: until
        then it waits, and gets the seconds that it waited in addition.

        See `SessionProvider.open` for the arguments; the node must have the toolbox of `sandbox`.

        Raises:
            DeadlineExceeded: no node was free in the time of the attempt; the campaign continues.
            SandboxError: a node cannot open a session, or five hosts in a row failed to connect.
            NodeLostError: the node was lost before the session was open.
        """
        before = WORK_LOG.read(folder.log)
        request = SessionRequest(
            name=f"{self._spec.id}/{folder.root.name}/{before.sessions + 1}",
            opening=self._opening(work, sandbox, before.threads, own_code=own_code),
            inputs=inputs,
            workspace=folder.workspace,
            packages=self._packages(folder),
            uncached=self._with_labels(work, inputs),
        )
        begun, left = time.monotonic(), work.budget.seconds + before.waited - before.spend.seconds
        if before.sessions:
            return self._open(request, begun + left, notify)
        longest = max(left, self._open_seconds(work, seconds_left))
        session = self._open(request, begun + longest, notify)
        session.waited = min(time.monotonic() - begun, longest - left)
        return session

    def _open(self, request: SessionRequest, end: float, notify: Callable[[str], None]) -> RemoteSession:
        """Request hosts until one opens the session, or it is `end` on the monotonic clock."""
        failed = 0
        while True:
            pause = 0.0
            try:
                left = end - time.monotonic()
                return RemoteSession(self._nodes, request, seconds=left, notify=notify)
            except NodeLostError as error:
                if error.node:
                    raise
                reason, failed = str(error), failed + 1  # no code has run
                if failed == _MOST_FAILED:
                    raise SandboxError(f"{failed} session hosts in a row failed: {reason}") from error
                pause = self._busy_seconds if failed > 1 else 0.0
            except NodeBusyError as error:
                reason, pause, failed = str(error), self._busy_seconds, 0
            if time.monotonic() + pause > end:
                raise DeadlineExceeded(reason)
            notify(reason)
            time.sleep(pause)

    def _open_seconds(self, work: Code, seconds_left: float) -> float:
        """Return the campaign's seconds that are open to this work: to attempts not those of its end."""
        limit = self._spec.budget.seconds
        if work.is_closing or limit is None:
            return seconds_left
        return seconds_left - self._spec.budget.closing_time_share * limit

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
        """Run `python ARGUMENTS` on a node, in a fresh interpreter; see `SessionProvider.run_script`."""
        request = SessionRequest(
            name=f"{self._spec.id}/{folder.root.name}/script",
            opening=self._opening(work, sandbox, WORK_LOG.read(folder.log).threads, own_code=False),
            inputs=inputs,
            workspace=workspace,
            packages=self._packages(folder) if folder.installed.is_file() else None,
            uncached=self._with_labels(work, inputs),
        )
        code = _SCRIPT.format(arguments=arguments)
        lost: NodeLostError | None = None
        for _ in range(_TRIES):
            try:
                session = RemoteSession(self._nodes, request, seconds=seconds)
                try:
                    result = session.run(code, seconds=seconds)
                finally:
                    session.close()
            except NodeLostError as error:
                lost = error
                continue
            if result.status is CellStatus.ERROR and result.output.strip():
                return result.model_copy(update={"error": result.output.strip()})
            return result
        assert lost is not None
        raise lost

    def _opening(self, work: Code, sandbox: Sandbox, threads: int, *, own_code: bool) -> OpenSession:
        return OpenSession(
            sandbox=self._spec.sandbox,
            own_code=own_code,
            toolbox=sandbox.toolbox,
            env={"PYTHONHASHSEED": str(self._spec.seed)},
            models=STORES["models"] if self._spec.store.models is not None else None,
            persistent=work.session == "notebook",
            threads=threads,
            gpus=max(self._spec.gpus, work.draft.needs.gpus),
            memory_gb=work.draft.needs.memory_gb,
            holders=self._spec.coders,
        )

    def _with_labels(self, work: Code, inputs: Sequence[Input]) -> frozenset[str]:
        """Return the names of the inputs that hold labels of validation rows, or learnt from them."""
        if work.operator not in (Operator.REFIT, Operator.FOLD):
            return frozenset()
        places = (f"input/{self._spec.competition}", "input/solutions/")
        return frozenset(each.name for each in inputs if each.name.startswith(places))

    def _packages(self, folder: WorkFolder) -> Packages:
        return Packages(folder.packages, folder.installed, allowed=self._spec.packages.allow)
