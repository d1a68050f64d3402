"""Make graphs whose largest independent sets are known in size.

The vertices are partitioned into cliques, so an independent set has at most one vertex of each. One
vertex of each clique gets no edge to those of the other cliques: together they are independent, and
their number is the optimum. Edges between cliques are drawn as in model RB of Xu and Li: for random
pairs of cliques, a quarter of the pairs of their vertices. In d20, d25 and d30 the cliques have the same
size, and as many pairs of them are drawn as make the search hardest. In s80 sizes differ, with fewer
edges.
"""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

_SHARES = {"development": 2, "sealed": 6, "test": 4}  # instances of each case
_CLIQUES = {"d20": 20, "d25": 25, "d30": 30, "s80": 80}
_JOINED = 0.25  # share of the pairs of vertices that are joined, where two cliques are
_EXPONENT = 0.8  # n cliques have n ** 0.8 vertices
_SPARSE_SIZES = (2, 8)
_SPARSE_PAIRS = 700


def generate() -> list[dict[str, Any]]:
    """Return all instances; the cases alternate."""
    cases = {case: _instances(case) for case in _CLIQUES}
    return [
        {**next(made), "case": case, "part": part}
        for part, share in _SHARES.items()
        for _ in range(share)
        for case, made in cases.items()
    ]


def _instances(case: str) -> Iterator[dict[str, Any]]:
    """Yield the instances of a case, with vertices numbered at random."""
    count = _CLIQUES[case]
    number = 0
    while True:
        draw = np.random.default_rng([count, number])
        if case.startswith("d"):
            sizes = [round(count**_EXPONENT)] * count
            pairs = round(_EXPONENT / math.log(1 / (1 - _JOINED)) * count * math.log(count))
        else:
            low, high = _SPARSE_SIZES
            sizes = draw.integers(low, high, size=count, endpoint=True).tolist()
            pairs = _SPARSE_PAIRS
        yield {
            "id": f"{case}-{number:02d}",
            "instance": {"vertices": sum(sizes), "edges": _edges(draw, sizes, pairs)},
            "reference": float(count),
        }
        number += 1


def _edges(draw: np.random.Generator, sizes: list[int], pairs: int) -> list[list[int]]:
    """Join the vertices of each clique, and some of pairs of cliques, but never two first vertices."""
    starts = np.cumsum([0, *sizes])
    is_joined = np.zeros((starts[-1], starts[-1]), dtype=bool)
    for start, end in pairwise(starts):
        is_joined[start:end, start:end] = True
    for _ in range(pairs):
        one, other = draw.choice(len(sizes), size=2, replace=False)
        possible = sizes[one] * sizes[other] - 1  # all but the first of one with the first of the other
        drawn = 1 + draw.permutation(possible)[: round(_JOINED * possible)]
        is_joined[starts[one] + drawn // sizes[other], starts[other] + drawn % sizes[other]] = True
    names = draw.permutation(starts[-1])
    renamed = (is_joined | is_joined.T)[np.ix_(names, names)]
    edges: list[list[int]] = np.argwhere(np.triu(renamed, 1)).tolist()
    return edges
