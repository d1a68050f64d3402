"""A placement that runs session hosts here, in threads."""

import threading
import time
from pathlib import Path

from comind.nodes.placement import HostOrder
from comind.nodes.session_host import SEALED, host_session
from tests.doubles.relay import Relay

__all__ = ["LOST_SECONDS", "HostThreads"]

LOST_SECONDS = 8.0  # much longer than links of tests are down, on a busy machine too


class HostThreads:
    """Runs session hosts in threads of this process, dialling in through a relay if there is one."""

    overdue = False

    def __init__(
        self,
        cache: Path,
        *,
        patience: float = LOST_SECONDS,
        delay: float = 0.0,
        accepted: tuple[str, ...] = SEALED,
    ) -> None:
        """Hosts start after `delay` seconds, and accept these sandboxes."""
        self.cache = cache
        self._patience = patience
        self._delay = delay
        self._accepted = accepted
        self.relay: Relay | None = None
        self.orders: list[HostOrder] = []
        self.ended: list[str] = []
        self.cancelled = 0
        self._threads: list[threading.Thread] = []

    def start(self, order: HostOrder) -> "HostThreads":
        self.orders.append(order)
        if self.relay is not None:
            order = order.model_copy(update={"address": f"127.0.0.1:{self.relay.port}"})
        thread = threading.Thread(target=self._run, args=(order, f"node-{len(self.orders)}"))
        thread.start()
        self._threads.append(thread)
        return self

    def _run(self, order: HostOrder, node: str) -> None:
        time.sleep(self._delay)
        self.ended.append(self.host(order, node))

    def host(self, order: HostOrder, node: str) -> str:
        """Run a host to its end; return why it ended."""
        return host_session(
            order, self.cache, node=node, patience=self._patience, accepted=self._accepted
        )

    def waiting(self) -> str:
        return "it is starting"

    def cancel(self) -> None:
        """Count, and leave it alone: a host ends when its session is closed."""
        self.cancelled += 1

    def join(self) -> None:
        """Wait for all hosts; one that does not end fails the test."""
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()
