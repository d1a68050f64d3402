"""A session whose cells are Python functions."""

from collections.abc import Callable, Mapping
from pathlib import Path

from comind.session.base import CellResult, CellStatus

__all__ = ["ScriptedSession"]


class ScriptedSession:
    """Runs a cell by calling the function that its code names, with the workspace.

    What the function returns is the cell's output; an exception is the cell's error. `ran` holds the
    code of every cell, in order.
    """

    sandbox = "scripted"
    sealed = True

    def __init__(
        self,
        workspace: Path,
        cells: Mapping[str, Callable[[Path], str]],
        ran: list[str] | None = None,
    ) -> None:
        workspace.mkdir(parents=True, exist_ok=True)
        self.workspace = workspace
        self.ran = [] if ran is None else ran
        self._cells = cells

    def run(self, code: str, *, seconds: float) -> CellResult:
        """Run one cell."""
        del seconds
        self.ran.append(code)
        cell = self._cells.get(code)
        if cell is None:
            return CellResult(status=CellStatus.ERROR, error=f"NameError: no cell named {code!r}")
        try:
            return CellResult(status=CellStatus.OK, output=cell(self.workspace))
        except Exception as error:  # noqa: BLE001 - whatever a cell raises is its result
            return CellResult(status=CellStatus.ERROR, error=f"{type(error).__name__}: {error}")

    def close(self) -> None:
        """Do nothing; there is no interpreter."""
