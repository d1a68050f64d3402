"""Smallest degree first: each vertex, by its degree, is chosen if no neighbour of it is."""


def solve(vertices: int, edges: list[list[int]]) -> dict[str, list[int]]:
    """Choose as many vertices of a graph as possible, no two of which are joined.

    Args:
        vertices: how many vertices there are; they are numbered from 0.
        edges: the pairs [vertex, vertex] that are joined.

    Returns:
        {"vertices": [the chosen vertices]}; each is in the list once.
    """
    neighbours: list[set[int]] = [set() for _ in range(vertices)]
    for one, other in edges:
        neighbours[one].add(other)
        neighbours[other].add(one)
    chosen: set[int] = set()
    for vertex in sorted(range(vertices), key=lambda each: len(neighbours[each])):
        if not neighbours[vertex] & chosen:
            chosen.add(vertex)
    return {"vertices": sorted(chosen)}
