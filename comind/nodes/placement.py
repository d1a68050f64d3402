"""Define the port that starts a session host on some node."""

from typing import Protocol

from comind.domain.value import Value


class HostOrder(Value):
    """All that a session host gets: where its driver is, and a token for one session.

    The token is refused once the session is closed or given up, so a host that comes back late cannot
    write; and once another host has the session, where several were requested.
    """

    name: str
    """Campaign, work and epoch, for logs and pages."""
    address: str
    """`host:port` of the driver."""
    certificate: str
    """The driver's certificate as PEM."""
    token: str


class PlacedHost(Protocol):
    """A session host that was requested."""

    @property
    def overdue(self) -> bool:
        """Whether a node took it and it has not connected in the time that starting one is given."""
        ...

    def waiting(self) -> str:
        """Return in one line why it has not connected yet.

        Raises:
            NodeLostError: it has ended.
        """
        ...

    def cancel(self) -> None:
        """End it, whether it runs or waits for a node; idempotent, and never raises."""
        ...


class Placement(Protocol):
    """A place to start session hosts, such as a work pool."""

    def start(self, order: HostOrder) -> PlacedHost:
        """Request a session host; returns at once.

        Raises:
            NodeLostError: the request is refused.
        """
        ...
