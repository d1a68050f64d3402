"""Truncate Python programs by whole functions and statements, so that the result is still Python."""

import ast
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple

from comind.llm.tokens import count_tokens
from comind.llm.truncate_prose import truncate_middle
from comind.system.syntax import parse_or_none

_NEWLINE = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")
_MAGIC = re.compile(r"^([ \t]*)[%!].*$", re.MULTILINE)
_CORE = re.compile(r"\.fit\(|train|predict|submission|to_csv", re.IGNORECASE)
_SPARE = 2  # tokens; lines are counted one by one
_DEEPEST = 12  # blocks in blocks

_Def = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class _Edit(NamedTuple):
    """A replacement of lines `start` to `end`, counted from 0, end exclusive."""

    start: int
    end: int
    lines: tuple[str, ...]
    saved: int
    """Tokens."""


def truncate_code(source: str, tokens: int) -> str:
    """Truncate a Python program to at most `tokens`.

    Bodies of functions and methods are dropped first, those of helpers before those that train, predict
    or write a submission, no more of them than needed; signatures and first docstring lines stay. Then
    other statements of classes, then statements of the module from its top, imports after the others;
    its last statements (training, submissions) stay. The result is Python as long as the last simple
    statement fits. A program that does not parse, even without IPython magics, is truncated by lines,
    with three quarters of the tokens for its end.
    """
    if count_tokens(source) <= tokens:
        return source
    tree = parse_or_none(source) or parse_or_none(_MAGIC.sub(r"\1pass", source))
    if tree is None or not tree.body:
        return truncate_middle(source, tokens)
    program = _Program(source)
    surplus = program.tokens - tokens + _SPARE
    edits: list[_Edit] = []
    functions = list(_functions(tree))
    core = {node for node in functions if _CORE.search(program.text(node))}
    for group in ([n for n in functions if n not in core], [n for n in functions if n in core]):
        stubs, surplus = _fewest([program.stub(node) for node in group], surplus)
        edits += stubs
    if surplus > 0:
        edits = program.without_statements(tree.body, edits, surplus)
    cut = program.with_edits(edits)
    return cut if count_tokens(cut) <= tokens else truncate_middle(cut, tokens)


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Return the functions of a module and the methods of its classes."""
    for node in tree.body:
        for each in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                yield each


def _fewest(candidates: Sequence[_Edit | None], surplus: int) -> tuple[list[_Edit], int]:
    """Choose few edits that save the surplus; return them and the surplus that remains.

    The largest are chosen first, and last the smallest one that suffices.
    """
    open_ones = sorted((each for each in candidates if each and each.saved > 0), key=attrgetter("saved"))
    chosen: list[_Edit] = []
    while surplus > 0 and open_ones:
        enough = bisect_left(open_ones, surplus, key=attrgetter("saved"))
        chosen.append(open_ones.pop(min(enough, len(open_ones) - 1)))
        surplus -= chosen[-1].saved
    return chosen, surplus


def _net(edit: _Edit, others: Sequence[_Edit]) -> int:
    """Return the tokens that an edit saves beyond the others that it contains."""
    return edit.saved - sum(each.saved for each in others if _inside(each, edit))


def _inside(inner: _Edit, outer: _Edit) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _start(node: ast.stmt) -> int:
    """Return the first line of a statement with its decorators, counted from 0."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)]) - 1


def _end(node: ast.stmt) -> int:
    """Return the line after a statement, counted from 0."""
    return node.end_lineno or node.lineno


def _blocks(node: ast.stmt) -> list[list[ast.stmt]]:
    """Return the blocks of a compound statement, the main one last."""
    holders = [*getattr(node, "handlers", []), node]
    names = ("orelse", "finalbody", "body")
    return [block for name in names for holder in holders if (block := getattr(holder, name, []))]


def _rank(node: ast.stmt) -> int:
    """Return the order in which statements of a module are dropped: imports last, functions before."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return 2
    return int(isinstance(node, _Def))


class _Program:
    """The lines of a program with their token counts."""

    def __init__(self, source: str) -> None:
        self.lines = _NEWLINE.split(source)
        self._cumulative = [0, *accumulate(map(_cost, self.lines))]

    @property
    def tokens(self) -> int:
        """Of the whole program."""
        return self._cumulative[-1]

    def text(self, node: ast.stmt) -> str:
        """Return the lines of a statement."""
        return "".join(self.lines[_start(node) : _end(node)])

    def with_edits(self, edits: Sequence[_Edit]) -> str:
        """Apply the edits to the program."""
        lines = list(self.lines)
        for edit in sorted(edits, reverse=True):
            lines[edit.start : edit.end] = edit.lines
        return "".join(lines)

    def stub(self, node: _Def) -> _Edit | None:
        """Return the edit that keeps a signature and the first docstring line; None if there is none."""
        if not self._on_own_line(node.body[0]):
            return None
        start, end = _start(node.body[0]), _end(node)
        indent = self._indent(start)
        summary = (ast.get_docstring(node) or "").strip().partition("\n")[0].strip()
        quotable = summary.isprintable() and not re.search(r'\\|"""|"$', summary)
        docstring = (f'{indent}"""{summary}"""\n',) if summary and quotable else ()
        return self._edit(start, end, (*docstring, f"{indent}...  # {end - start} lines cut\n"))

    def without_statements(
        self, body: Sequence[ast.stmt], edits: list[_Edit], surplus: int
    ) -> list[_Edit]:
        """Return edits that also drop statements of a module, until the surplus is saved."""
        for node in body:
            if isinstance(node, ast.ClassDef) and self._on_own_line(node.body[0]):
                members = sorted(range(len(node.body)), key=lambda number: number == 0)  # docstring last
                edits, surplus = self._drop(node.body, members, edits, surplus)
        order = sorted(range(len(body) - 1), key=lambda number: (_rank(body[number]), number))
        edits, surplus = self._drop(body, order, edits, surplus, begin=0)
        for _ in range(_DEEPEST):
            blocks = [block for block in _blocks(body[-1]) if self._on_own_line(block[0])]
            whole = _Edit(_start(body[-1]), _end(body[-1]), (), 0)
            if surplus <= 0 or not blocks or any(_inside(each, whole) for each in edits):
                break
            body = blocks[-1]
            for block in blocks:
                order = list(range(len(block) - (block is body)))
                edits, surplus = self._drop(block, order, edits, surplus)
        return edits

    def _drop(
        self,
        body: Sequence[ast.stmt],
        order: Sequence[int],
        edits: list[_Edit],
        surplus: int,
        begin: int | None = None,
    ) -> tuple[list[_Edit], int]:
        """Drop statements of a block in this order, adjacent ones together, until the surplus is saved.

        Args:
            body: the block.
            order: numbers of its statements.
            edits: made so far; those inside dropped statements are removed.
            surplus: tokens to save.
            begin: first line of the block, with its comments; None: that of its first statement.
        """
        mark = "# {} lines cut\n"
        if begin is None:
            mark = f"{self._indent(_start(body[0]))}...  {mark}"
        starts = [_start(body[0]) if begin is None else begin, *map(_end, body[:-1])]

        def without(count: int) -> list[_Edit]:
            found: list[_Edit] = []
            for first, last in _runs(set(order[:count])):
                start, end = starts[first], _end(body[last])
                shared = last + 1 < len(body) and _start(body[last + 1]) < end
                if shared or (first and _start(body[first]) < starts[first]):
                    continue  # another statement is on the same line
                edit = self._edit(start, end, (mark.format(end - start),))
                found += [edit] if _net(edit, edits) > 0 else []
            return found

        def saved(count: int) -> int:
            return sum(_net(each, edits) for each in without(count))

        enough = bisect_left(range(len(order) + 1), max(0, surplus), key=saved)
        found = without(min(enough, len(order)))
        surplus -= sum(_net(each, edits) for each in found)
        kept = [each for each in edits if not any(_inside(each, edit) for edit in found)]
        return kept + found, surplus

    def _edit(self, start: int, end: int, lines: tuple[str, ...]) -> _Edit:
        saved = self._cumulative[end] - self._cumulative[start] - sum(map(_cost, lines))
        return _Edit(start, end, lines, saved)

    def _on_own_line(self, node: ast.stmt) -> bool:
        return not self.lines[_start(node)].encode()[: node.col_offset].strip()

    def _indent(self, number: int) -> str:
        line = self.lines[number]
        return line[: len(line) - len(line.lstrip())]


def _cost(line: str) -> int:
    """Return the tokens that a line adds; its indentation is counted with the newline before."""
    return 0 if line == "\n" else count_tokens(line.lstrip(" "))


def _runs(numbers: set[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last of each run of consecutive numbers."""
    for number in sorted(numbers):
        if number - 1 not in numbers:
            first = number
        if number + 1 not in numbers:
            yield first, number
