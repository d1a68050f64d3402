"""DSATUR, after Brelaz: next comes the vertex whose neighbours have the most colours."""


def solve(vertices: int, edges: list[list[int]]) -> dict[str, list[int]]:
    """Colour a graph with as few colours as possible, so that vertices that are joined differ.

    Args:
        vertices: how many vertices there are; they are numbered from 0.
        edges: the pairs [vertex, vertex] that are joined.

    Returns:
        {"colours": [the colour of each vertex, an integer from 0 to vertices - 1]}
    """
    neighbours: list[list[int]] = [[] for _ in range(vertices)]
    for one, other in edges:
        neighbours[one].append(other)
        neighbours[other].append(one)
    taken: list[set[int]] = [set() for _ in range(vertices)]  # colours of the neighbours of each vertex
    colours = [0] * vertices
    left = set(range(vertices))
    while left:
        vertex = max(left, key=lambda each: (len(taken[each]), len(neighbours[each]), -each))
        left.remove(vertex)
        colours[vertex] = next(colour for colour in range(vertices) if colour not in taken[vertex])
        for each in neighbours[vertex]:
            taken[each].add(colours[vertex])
    return {"colours": colours}
