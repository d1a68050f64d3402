"""Run cells as Python functions in place of an interpreter."""

import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from comind.domain.environment import FetchedInputs, Machine
from comind.errors import NodeLostError
from comind.session.load import CellUsage
from comind.session.output import OutputBuffer
from comind.session.session_ports import CellResult, CellStatus, Watch

__all__ = ["ScriptedSession"]

Usage = Callable[[float], CellUsage | None]


class ScriptedSession:
    """Runs a cell by calling the function that its code names with the workspace.

    The return value is the cell's output, an exception its error. A function that yields pairs of
    seconds and a line is a cell that prints the line so long after its start, in simulated time; `usage`
    returns what it has used by then. `ran` holds the code of each cell. A cell that raises a
    NodeLostError takes the node with it. Without `persistent`, cells lose their state, as in a script
    session.
    """

    sandbox = "scripted"
    sealed = True
    threads = 1
    node = ""
    machine: Machine | None = None
    fetched: FetchedInputs | None = None
    waited: float = 0.0

    def __init__(
        self,
        workspace: Path,
        cells: Mapping[str, Callable[[Path], str | Iterable[tuple[float, str]]]],
        ran: list[str] | None = None,
        *,
        persistent: bool = True,
        usage: Usage = lambda _: None,
    ) -> None:
        workspace.mkdir(parents=True, exist_ok=True)
        self.workspace = workspace
        self.ran = [] if ran is None else ran
        self._cells = cells
        self._persistent = persistent
        self._usage = usage

    def run(self, code: str, *, seconds: float, watch: Watch | None = None) -> CellResult:
        """Run one cell; `seconds` is its timeout in simulated time."""
        result = self._run(code, seconds, watch)
        lost = result.status is CellStatus.DIED or not self._persistent
        return result.model_copy(update={"state_lost": lost})

    def _run(self, code: str, seconds: float, watch: Watch | None) -> CellResult:
        self.ran.append(code)
        cell = self._cells.get(code)
        if cell is None:
            return CellResult(status=CellStatus.ERROR, error=f"NameError: no cell named {code!r}")
        try:
            output_or_lines = cell(self.workspace)
            if isinstance(output_or_lines, str):
                return CellResult(status=CellStatus.OK, output=output_or_lines)
            return _play(output_or_lines, seconds, watch, self._usage)
        except NodeLostError:
            raise
        except ChildProcessError as error:
            return CellResult(status=CellStatus.DIED, error=str(error))
        except Exception as error:  # noqa: BLE001 - whatever a cell raises is its result
            return CellResult(status=CellStatus.ERROR, error=f"{type(error).__name__}: {error}")

    def close(self) -> None:
        """No-op: there is no interpreter."""


def _play(
    lines: Iterable[tuple[float, str]], seconds: float, watch: Watch | None, usage: Usage
) -> CellResult:
    output, now = OutputBuffer(), 0.0
    for now, line in lines:
        while watch is not None and (look := watch.next_look) <= min(now, seconds):
            reason = watch.look(output.text(), look, usage(look))
            if reason is not None:
                return CellResult(
                    status=CellStatus.STOPPED,
                    output=output.text(),
                    error=reason,
                    seconds=math.ceil(look),
                )
        if now > seconds:
            error = "the cell was interrupted: its time was over"
            return CellResult(
                status=CellStatus.TIMEOUT, output=output.text(), error=error, seconds=seconds
            )
        output.add(f"{line}\n")
    return CellResult(status=CellStatus.OK, output=output.text(), seconds=now)
