"""Check a colouring of a graph and count its colours."""

from typing import Any

MAXIMIZE = False


def score(instance: dict[str, Any], solution: object) -> float:
    """Return how many colours are used.

    Raises:
        ValueError: the colouring is infeasible; the message says why.
    """
    vertices = instance["vertices"]
    match solution:
        case {"colours": list(colours)}:
            pass
        case _:
            raise ValueError('the solution is no dictionary with a list "colours"')
    if len(colours) != vertices:
        raise ValueError(f"there are {len(colours)} colours for {vertices} vertices")
    for vertex, colour in enumerate(colours):
        if type(colour) is not int or not 0 <= colour < vertices:
            raise ValueError(f"the colour of vertex {vertex} is no integer from 0 to {vertices - 1}")
    for one, other in instance["edges"]:
        if colours[one] == colours[other]:
            raise ValueError(f"vertices {one} and {other} are joined and have the same colour")
    return float(len(set(colours)))
