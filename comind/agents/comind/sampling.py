"""Which items of the community are read next, and why."""

import random

from comind.agents.comind.parameters import CoMindParameters
from comind.agents.comind.thoughts import Sampled
from comind.domain.community import CommunityView

__all__ = ["sample"]


def sample(
    view: CommunityView, read: set[str], parameters: CoMindParameters, *, seed: int, number: int
) -> list[Sampled]:
    """Return the items of round `number`: the best ranked that are unread, and strays from the rest.

    Ranks come from the view; a stray is drawn at random, so that what the ranking overlooks has a
    chance. The same round of the same campaign always draws the same.
    """
    draw = random.Random(f"{seed}:{number}")  # noqa: S311 - no secret hangs on it
    found = []
    for kind, names, best in (
        ("notebook", [item.ref for item in view.notebooks], parameters.notebooks_per_round),
        ("discussion", [item.id for item in view.discussions], parameters.discussions_per_round),
    ):
        unread = [name for name in names if name not in read]
        for name in unread[:best]:
            why = f"number {names.index(name) + 1} of {len(names)} {kind}s by rank, unread"
            found.append(Sampled(id=name, kind=kind, why=why))
        rest = unread[best:]
        for name in draw.sample(rest, min(parameters.random_per_round, len(rest))):
            why = f"drawn at random from {len(rest)} unread {kind}s of lower rank"
            found.append(Sampled(id=name, kind=kind, why=why))
    return found
