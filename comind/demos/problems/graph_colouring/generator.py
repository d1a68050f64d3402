"""Make graphs whose chromatic number is known.

queens: fields of a chessboard, joined where a queen moves from one to the other. The numbers of square
boards are published. Where a board of n rows and columns has the number n, so has a part of its rows, as
each row is a clique.

partite: vertices in k classes, edges between classes only, and a clique with a vertex of each class. The
clique needs k colours, the classes are a colouring with k.

mycielski: Mycielski's construction, once or twice, on a smaller graph of that kind: each time the number
grows by one, while no clique grows.
"""

import random
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

_SHARES = {"development": (3, 3, 2), "sealed": (8, 8, 8), "test": (5, 5, 6)}  # instances of each case

# Rows, columns, chromatic number; square boards of 8 to 14 rows as published, others by their columns.
_BOARDS = (
    *((8, 8, 9), (9, 11, 11), (12, 12, 12)),
    *((9, 9, 10), (7, 12, 12), (10, 11, 11), (8, 14, 14), (10, 10, 11), (11, 13, 13), (13, 13, 13)),
    *((10, 14, 14), (11, 11, 11), (10, 12, 12), (12, 13, 13), (14, 14, 14), (9, 13, 13)),
)
# Classes, vertices of a class, and the share of the possible edges between classes.
_SMALL = ((6, 12, 0.45), (8, 11, 0.5), (10, 10, 0.55))
_LARGE = ((20, 8, 0.5), (15, 10, 0.55), (25, 8, 0.6), (12, 12, 0.35))

Edges = list[tuple[int, int]]
Made = tuple[int, Edges, int]


def generate() -> list[dict[str, Any]]:
    """Return all instances; the cases alternate."""
    cases = {
        "queens": _instances("queens", lambda _, number: _queens(*_BOARDS[number])),
        "mycielski": _instances("mycielski", _lifted),
        "partite": _instances("partite", lambda draw, number: _partite(draw, *_LARGE[number % 4])),
    }
    return [
        {**next(made), "case": case, "part": part}
        for part, shares in _SHARES.items()
        for turn in range(max(shares))
        for share, (case, made) in zip(shares, cases.items(), strict=True)
        if turn < share
    ]


def _instances(case: str, graph: Callable[[random.Random, int], Made]) -> Iterator[dict[str, Any]]:
    """Yield the instances of a case, with vertices renumbered at random."""
    number = 0
    while True:
        draw = random.Random(f"graph colouring {case} {number}")  # noqa: S311 - not for security
        vertices, edges, colours = graph(draw, number)
        names = draw.sample(range(vertices), vertices)
        renamed = sorted(sorted((names[one], names[other])) for one, other in edges)
        yield {
            "id": f"{case}-{number:02d}",
            "instance": {"vertices": vertices, "edges": renamed},
            "reference": float(colours),
        }
        number += 1


def _queens(rows: int, columns: int, colours: int) -> Made:
    """Return the moves of a queen on a board."""
    fields = [(row, column) for row in range(rows) for column in range(columns)]
    edges = [
        (one, other)
        for (one, (y, x)), (other, (v, u)) in combinations(enumerate(fields), 2)
        if y == v or x == u or abs(y - v) == abs(x - u)
    ]
    return len(fields), edges, colours


def _lifted(draw: random.Random, number: int) -> Made:
    """Return a graph after one or two of Mycielski's constructions."""
    graph = _partite(draw, *_SMALL[number % 3])
    for _ in range(1 + number % 2):
        graph = _mycielskian(*graph)
    return graph


def _mycielskian(vertices: int, edges: Edges, colours: int) -> Made:
    """Add a copy of each vertex, joined to its neighbours, and a vertex that is joined to all copies."""
    top = 2 * vertices
    copied = [(each, vertices + other) for pair in edges for each, other in (pair, pair[::-1])]
    joined = [(vertices + each, top) for each in range(vertices)]
    return top + 1, [*edges, *copied, *joined], colours + 1


def _partite(draw: random.Random, classes: int, size: int, density: float) -> Made:
    """Return a graph of classes; vertex v is in class v modulo their number, the first are a clique."""
    vertices = classes * size
    edges = [
        (one, other)
        for one, other in combinations(range(vertices), 2)
        if (one - other) % classes and (other < classes or draw.random() < density)
    ]
    return vertices, edges, classes
