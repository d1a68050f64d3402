"""The ports of a piece of work: its models, and what an attempt uses besides them."""

from collections.abc import Callable
from typing import NamedTuple

from comind.campaign.log.work_events import Neighbour
from comind.campaign.work.endpoint import ModelEndpoint
from comind.campaign.work.evaluations import Evaluations
from comind.campaign.work.hand_in import FilesHandedIn, HandIn
from comind.campaign.work.monitor import Monitor
from comind.grading.grader_port import Grader
from comind.llm.model_ports import ChatModel, Embedder
from comind.session.session_ports import Session


class Models(NamedTuple):
    """The models of an agent's work, with metered requests."""

    chat: ChatModel
    """Recorded as well."""
    embedder: Embedder | None = None


class Ports(NamedTuple):
    """The ports that a `CodeContext` uses besides its models."""

    open_session: Callable[[Callable[[str], None]], Session]
    """Opens a session; calls its argument with the reason while it has to wait for one."""
    grader: Grader
    monitor: Monitor | None = None
    """Monitors cells, except those replayed into a new session."""
    neighbours: Callable[[], tuple[Neighbour, ...]] = tuple
    """Returns the progress of the campaign's other attempts, best first."""
    evaluations: Evaluations | None = None
    """Numbers and limits the gradings; None for work of the platform."""
    hand_in: HandIn = FilesHandedIn()
    """What cells hand in."""
    endpoint: ModelEndpoint | None = None
    """Serves the model to programs of the cells that ask for it."""
