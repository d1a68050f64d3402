"""Steps on the sample of the training rows: when they are worth it, which cells use it, the best one.

Their scores are a class of their own. No full step is compared with them, and none of them is an
attempt's result.
"""

import ast
import re
from collections.abc import Iterable, Sequence

from comind.campaign.log.work_state import CellRun
from comind.system.syntax import parse_or_none

_LONG = 0.1  # of an attempt's time
_COMMENTS = re.compile(r"^\s*#.*$", re.MULTILINE)
_BETWEEN = re.compile(r"[^\w.-]+")  # parts of a path, also of one that is put together
_PATH = re.compile(r"(?<![\w.-])input/sample(?![\w.-])")
_FITS = re.compile(r"fit|partial_fit|train")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def takes_long(seconds: float, attempt_seconds: float) -> bool:
    """Return whether a full run takes more than a tenth of an attempt, so that few rows come first."""
    return seconds > _LONG * attempt_seconds


def best_on_sample(cells: Iterable[CellRun]) -> CellRun | None:
    """Return the cell with the best score on the sample, of equal ones the first."""
    best: CellRun | None = None
    for cell in cells:
        score = cell.sample.report.score if cell.sample is not None else None
        known = best.sample.report.score if best is not None and best.sample is not None else None
        if score is not None and (known is None or score.value.better_than(known.value)):
            best = cell
    return best


def uses_sample(before: Iterable[CellRun], code: str) -> bool:
    """Return whether a cell that its interpreter runs after others depends on rows of `input/sample/`.

    By its text: it names the folder, or a name that was given a value with such rows and none without
    since, also by a method, as in `model.fit(sample)`. What the text does not show is missed, and
    settings that were searched on the sample count as well as models that were fitted on it.
    """
    names, found = set[str](), False
    for each in (*(cell.code for cell in before), code):
        tree, lines, found = parse_or_none(each), each.split("\n"), False
        for statement in tree.body if tree is not None else ():
            nodes = list(ast.walk(statement))
            stored = _stored(nodes)
            text = "\n".join(lines[statement.lineno - 1 : statement.end_lineno])
            if _PATH.search(_BETWEEN.sub("/", _COMMENTS.sub("", text))) or names & _loaded(nodes):
                names |= stored | _changed(nodes)
                found = True
            else:
                names -= stored
    return found


def _loaded(nodes: Sequence[ast.AST]) -> set[str]:
    return {each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}


def _stored(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the names that are given values, or defined."""
    named = [each for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]
    return {each.id for each in named} | {each.name for each in nodes if isinstance(each, _DEFINITIONS)}


def _changed(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the names with a method that fits, or whose result is not used."""
    unused = {id(each.value) for each in nodes if isinstance(each, ast.Expr)}
    return {
        each.func.value.id
        for each in nodes
        if isinstance(each, ast.Call)
        and isinstance(each.func, ast.Attribute)
        and isinstance(each.func.value, ast.Name)
        and (id(each) in unused or _FITS.match(each.func.attr))
    }
