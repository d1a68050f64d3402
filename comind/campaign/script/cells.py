"""Convert the cells of an attempt that had effects to plain Python."""

import ast
import re
import textwrap
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

from comind.campaign.log.work_events import SubmissionNames
from comind.campaign.log.work_state import CellRun
from comind.domain.problem import OUT_OF_FOLD_PROBABILITIES
from comind.session.session_ports import CellResult, CellStatus
from comind.system.syntax import parse_python

_FAILED_LINE = re.compile(r"^Cell In\[\d+\], line (\d+)", re.MULTILINE)
_DROPPED_MAGICS = {
    "matplotlib",
    "config",
    "load_ext",
    "autoreload",
    "pip",
    "conda",
    "precision",
    "pinfo",
}
_DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_TIMING = ("time ", "timeit ", "prun ")


@dataclass(frozen=True, slots=True)
class RanCell:
    """A cell, or the part of it that ran before it failed."""

    step: int
    goal: str
    code: str
    """Plain Python if it could be converted, else unchanged."""
    life: int
    """Number of the interpreter that ran it; names do not survive a restart, files do."""
    names: SubmissionNames
    beside: frozenset[str] = frozenset()
    """Files of probabilities for validation and test rows that were collected with its submissions."""


def cells_of(ran: Iterable[CellRun], step: int) -> list[RanCell]:
    """Return the cells up to the submitting `step` whose effects a new interpreter can reproduce.

    A failed cell is truncated to the part that ran. Scratch cells before it are left out, and stopped
    or interrupted ones, as it is unknown how far they ran.
    """
    cells: list[RanCell] = []
    life = 0
    for cell in ran:
        if cell.result is None:
            continue
        if cell.step > step:
            break
        code = ran_part(to_python(cell.code), cell.result)
        if code.strip() and (not cell.scratch or cell.step == step):
            names = cell.names or SubmissionNames()
            beside = set(cell.submitted.probabilities if cell.submitted else ())
            beside.discard(OUT_OF_FOLD_PROBABILITIES)
            cells.append(RanCell(cell.step, cell.goal, code, life, names, frozenset(beside)))
        life += cell.result.state_lost
    return cells


def ran_part(code: str, result: CellResult) -> str:
    """Return the statements of a cell that completed; none of a stopped cell."""
    if result.status is CellStatus.OK:
        return code
    found = _FAILED_LINE.search(result.error)
    tree = parsed(code)
    if result.status is not CellStatus.ERROR or found is None or tree is None:
        return ""
    line = int(found.group(1))
    whole = [each for each in tree.body if (each.end_lineno or each.lineno) < line]
    return "\n".join(code.split("\n")[: whole[-1].end_lineno]) if whole else ""


def only_defines(code: str) -> bool:
    """Return whether code has imports and definitions alone, which take no time."""
    tree = parsed(code)
    return tree is not None and all(isinstance(each, _DEFINITIONS) for each in tree.body)


def parsed(code: str) -> ast.Module | None:
    """Return the syntax tree, or None if the code is not plain Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the program's own, such as an odd escape in a string
            return parse_python(code)
    # Untrusted code: invalid or empty text, or nesting too deep for the parser.
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def to_python(code: str) -> str:
    """Remove IPython magics from `code`; return it unchanged if the result is not Python.

    Lines keep their numbers, so that tracebacks still match.
    """
    if parsed(code) is not None:
        return code
    lines = code.split("\n")
    first = next((n for n, line in enumerate(lines) if line.strip()), 0)
    if lines[first].startswith("%%"):
        return _cell_magic(lines, first) or code
    plain = "\n".join(_line(each) for each in lines)
    return plain if parsed(plain) is not None else code


def _cell_magic(lines: list[str], first: int) -> str | None:
    name, _, rest = lines[first].removeprefix("%%").strip().partition(" ")
    body = "\n".join(lines[first + 1 :])
    match name:
        case "time" | "timeit" | "capture" | "prun":
            kept = to_python(body)
            return "\n" * (first + 1) + kept if parsed(kept) is not None else None
        case "writefile" | "file" if rest and not rest.startswith("-"):
            return f"open({rest.strip()!r}, 'w').write({body!r})"
        case "bash" | "sh":
            return f"import subprocess; subprocess.run({body!r}, shell=True)"
        case _:
            return None


def _line(line: str) -> str:
    indent, text = line[: len(line) - len(line.lstrip())], line.strip()
    if text.startswith("!"):
        return f"{indent}import subprocess; subprocess.run({text[1:].strip()!r}, shell=True)"
    if text.startswith("%"):
        magic = text[1:].lstrip("%")
        for timing in _TIMING:
            if magic.startswith(timing):
                return indent + textwrap.dedent(magic.removeprefix(timing)).strip()
        if magic.split(" ")[0] in _DROPPED_MAGICS:
            return f"{indent}pass  # {text}"
        return line
    if text.startswith("?") or (text.endswith("?") and not text.startswith("#")):
        return f"{indent}pass  # {text}"
    return line
