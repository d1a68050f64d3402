"""Write cells and their results as a Jupyter notebook; the only module that imports `nbformat`."""

from collections.abc import Iterable
from dataclasses import dataclass

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from comind.session.session_ports import CellResult, CellStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell that has run or is running."""

    goal: str
    code: str
    result: CellResult | None = None


def notebook_of(title: str, cells: Iterable[Cell]) -> str:
    """Return the text of an `.ipynb` file with goal, code and output of each cell."""
    parts = [new_markdown_cell(f"# {title}", id="title")]
    for number, cell in enumerate(cells, start=1):
        parts.append(new_markdown_cell(f"**Step {number}.** {cell.goal}", id=f"goal-{number}"))
        outputs = [] if cell.result is None else _outputs(cell.result)
        # Numbered ids make the file deterministic.
        parts.append(
            new_code_cell(cell.code, outputs=outputs, execution_count=number, id=f"cell-{number}")
        )
    notebook = new_notebook(cells=parts)
    return str(nbformat.writes(notebook)) + "\n"


def _outputs(result: CellResult) -> list[nbformat.NotebookNode]:
    outputs = []
    if result.output:
        outputs.append(new_output("stream", name="stdout", text=result.output))
    if result.status is not CellStatus.OK:
        name = result.error.strip().rpartition("\n")[2].partition(":")[0] or result.status.value
        outputs.append(new_output("error", ename=name, evalue="", traceback=result.error.splitlines()))
    return outputs
