"""Keep scored programs on islands, and choose which of them a model sees: the programs database.

All of it is a pure function of the attempts so far and of the random numbers that are given.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from random import Random
from statistics import median_low

from comind.campaign.log.work_items import Assignment, Attempt
from comind.domain.value import Value

Island = Sequence[Attempt]

_FURTHEST = 1e6  # units from the best score, beyond which no program is drawn anyway


class Version(Value):
    """A program that a prompt shows."""

    attempt: str
    code: str
    result: str
    """Its score, in words."""
    output: str = ""
    """The end of what it printed."""


class Reset(Value):
    """The worse islands begin again, each with the best program of a better one."""

    number: int
    """The latest that was due, from 1."""
    founders: dict[int, str]
    """The program that an island begins with, by island; the others go on."""
    running: tuple[str, ...] = ()
    """Programs in flight: they come into their islands, also if these begin again."""


class Place(Value):
    """Where a program belongs, and what it was written from: the facts of its work."""

    island: int | None = None
    """None: all of them, as of a program from scratch."""
    versions: tuple[Version, ...] = ()
    """What its prompt shows, the worst first."""
    tried: tuple[str, ...] = ()
    """Result and plan of the latest programs written from the best of these."""
    reset: Reset | None = None
    """Of the islands, before it was planned."""


class Parts(Value):
    """Result of a program: what tells it from others with the same score."""

    scores: tuple[float, ...] = ()
    """Of targets or blocks of rows, in the order of their names; empty if the metric has none."""


PROGRAM = Assignment("program", Place, Parts)


def islands_of(attempts: Sequence[Attempt], count: int) -> list[Island]:
    """Return the programs of each island, in the order of planning.

    Those that have no score or were rejected are on none; those from scratch, and the baseline, are on
    all.
    """
    islands: list[Island] = [()] * count
    for each in attempts:
        place = PROGRAM.facts_of(each.work) or Place()
        if place.reset is not None:
            islands = reset_by(place.reset, islands)
        if each.score is not None:
            for number in range(count) if place.island is None else [place.island]:
                islands[number] = (*islands[number], each)
    return [[each for each in island if not each.rejected] for island in islands]


def reset_by(reset: Reset, islands: Sequence[Island]) -> list[Island]:
    """Return the islands after a reset."""
    known = {each.id: each for island in islands for each in island}
    found = list(islands)
    for number, founder in reset.founders.items():
        running = [each for each in islands[number] if each.id in reset.running]
        found[number] = [known[founder], *running]
    return found


def next_reset(islands: Sequence[Island], number: int, running: Sequence[str], draw: Random) -> Reset:
    """Return a reset of the worse half of the islands, by their best programs; ties are drawn.

    At least one island has a program.
    """
    ranks = [(best_score(island), draw.random()) for island in islands]
    order = sorted(range(len(islands)), key=ranks.__getitem__)
    worse = order[: len(order) // 2]
    better = [islands[each] for each in order[len(worse) :] if islands[each]]
    founders = {each: max(draw.choice(better), key=_score).id for each in worse}
    return Reset(number=number, founders=founders, running=tuple(running))


def best_score(island: Island) -> float:
    """Return the best score on an island, higher is better; minus infinity if it is empty."""
    return max(map(_score, island), default=-math.inf)


def choose(island: Island, examples: int, temperature: float, draw: Random) -> list[Attempt]:
    """Draw a program of each of up to `examples` clusters; the worst is first.

    Better clusters are preferred, and within a cluster shorter programs.
    """
    clusters = _clusters(island)
    scores = _relative([best_score(cluster) for cluster in clusters])
    chosen: list[Attempt] = []
    while clusters and len(chosen) < examples:
        [number] = draw.choices(range(len(clusters)), _softmax(scores, temperature))
        chosen.append(_short(clusters.pop(number), draw))
        del scores[number]
    return sorted(chosen, key=_score)


def cooled(temperature: float, programs: int, period: int) -> float:
    """Return the temperature on an island with so many programs: it falls, then begins again."""
    return temperature * (1 - programs % period / period)


def _clusters(island: Island) -> list[Island]:
    """Group programs by the scores of their parts, else by the score in the digits that agents see."""
    found = defaultdict(list)
    for each in island:
        parts = PROGRAM.result_of(each.outcome) or Parts()
        assert each.score is not None
        found[parts.scores or (each.score.shown.value,)].append(each)
    return list(found.values())


def _relative(scores: Sequence[float]) -> list[float]:
    """Return scores as distances below the best one, in units of the median distance."""
    gaps = [max(scores) / 2 - each / 2 for each in scores]  # of halves, which do not overflow
    unit = median_low([gap for gap in gaps if gap] or [1.0])
    return [-min(gap / unit, _FURTHEST) for gap in gaps]


def _short(cluster: Island, draw: Random) -> Attempt:
    """Draw a program, short ones more likely."""
    lengths = [len(each.outcome.code) if each.outcome else 0 for each in cluster]
    least, most = min(lengths), max(lengths) or 1
    shares = [(least - length) / most for length in lengths]
    return draw.choices(cluster, _softmax(shares, 1.0))[0]


def _softmax(values: Sequence[float], temperature: float) -> list[float]:
    """Return weights that need not add up to one; the largest is one."""
    return [math.exp((each - max(values)) / temperature) for each in values]


def _score(program: Attempt) -> float:
    assert program.score is not None
    return program.score.value.signed
