"""The database: which programs an island has, and which of them a prompt shows."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.agents.funsearch.islands import Place, choose, cooled, islands_of, next_reset, reset_by
from comind.campaign.log.campaign_events import AttemptRejected
from comind.campaign.log.work import Code
from comind.campaign.log.work_items import Attempt
from comind.domain.draft import Operator
from tests.examples import examples
from tests.unit.agents.funsearch.archipelagos import Archipelago, bad, good, member, place_of

_SEEDS = 400


def _shown(island: list[Attempt], *, count: int = 2, temperature: float = 0.5) -> Counter[str]:
    """Return how often each program is chosen, over many seeds."""
    found = Counter[str]()
    for seed in range(_SEEDS):
        found.update(each.id for each in choose(island, count, temperature, Random(seed)))
    return found


def _scores(attempts: list[Attempt]) -> list[float]:
    return [each.score.value.signed for each in attempts if each.score]


# --- choices -----------------------------------------------------------------------------------------


def test_short_programs_of_a_cluster_are_preferred() -> None:
    """Of two programs with the same score the short one is shown almost three times as often."""
    island = [member(1, good(0.8, "x" * 1000)), member(2, good(0.8, "x"))]
    found = _shown(island)
    assert found.total() == _SEEDS, "one cluster gives one program"
    assert 1.8 < found["attempt-002"] / found["attempt-001"] < 4.2


def test_programs_of_one_prompt_are_of_different_clusters() -> None:
    """A score that many programs have counts once."""
    island = [*(member(n, good(0.8)) for n in range(9)), member(9, good(0.7))]
    assert _shown(island)["attempt-009"] == _SEEDS


def test_a_cluster_has_equal_scores_in_all_parts() -> None:
    """Of programs with the same score, those that err elsewhere are another cluster."""
    island = [member(0, good(0.8, parts=(0.7, 0.9))), member(1, good(0.8, parts=(0.9, 0.7)))]
    assert _shown(island) == {"attempt-000": _SEEDS, "attempt-001": _SEEDS}


def test_better_clusters_are_preferred_the_more_the_colder_it_is() -> None:
    """The best is shown more often than the second, and nearly always when it is cold."""
    island = [member(n, good(value)) for n, value in enumerate((0.6, 0.7, 0.8))]
    warm, cold = (_shown(island, count=1, temperature=each) for each in (2.0, 0.1))
    assert 0.35 * _SEEDS < warm["attempt-002"] < 0.75 * _SEEDS
    assert warm["attempt-002"] > warm["attempt-001"] > warm["attempt-000"] > 0
    assert cold["attempt-002"] > 0.99 * _SEEDS


def test_choices_do_not_depend_on_the_unit_of_the_metric() -> None:
    """Scores in thousandths are chosen as often as the same in thousands, and one outlier is no unit."""
    small = [member(n, good(value)) for n, value in enumerate((0.001, 0.002, 0.003))]
    large = [member(n, good(value)) for n, value in enumerate((1000.0, 2000.0, 3000.0))]
    assert _shown(small, count=1) == _shown(large, count=1)
    outlier = _shown([*small, member(3, good(-1e9)), member(4, good(0.0))], count=1, temperature=0.2)
    assert outlier["attempt-002"] > 0.8 * _SEEDS


def test_less_is_better_where_the_metric_says_so() -> None:
    """The best is the lowest score, and versions fall towards it."""
    island = [member(n, good(value, maximize=False)) for n, value in enumerate((3.0, 2.0, 1.0))]
    assert _shown(island, count=1, temperature=0.1)["attempt-002"] > 0.99 * _SEEDS
    assert [each.id for each in choose(island, 3, 0.5, Random(0))] == [each.id for each in island]


def test_the_temperature_falls_and_begins_again() -> None:
    """It falls evenly over a period of programs, is never zero, and then is as at the start."""
    assert [cooled(0.5, number, 5) for number in range(6)] == pytest.approx(
        [0.5, 0.4, 0.3, 0.2, 0.1, 0.5]
    )


@given(
    values=st.lists(st.floats(-1e307, 1e307), min_size=1, max_size=8),
    count=st.integers(1, 4),
    temperature=st.floats(1e-6, 10),
    seed=st.integers(0, 99),
)
def test_any_scores_can_be_drawn_from(
    values: list[float], count: int, temperature: float, seed: int
) -> None:
    """Whatever the scores, different programs are chosen, the worst first."""
    island = [member(number, good(value)) for number, value in enumerate(values)]
    chosen = choose(island, count, temperature, Random(seed))
    assert 1 <= len({each.id for each in chosen}) == len(chosen) <= count
    assert _scores(chosen) == sorted(_scores(chosen))


# --- resets ------------------------------------------------------------------------------------------


def _values(islands: list[list[Attempt]]) -> list[list[float]]:
    return [_scores(island) for island in islands]


@pytest.mark.parametrize("maximize", [True, False])
def test_the_worse_half_takes_the_best_of_a_better_island(maximize: bool) -> None:
    """Two of five begin again, each with the best program of one of the other three."""
    sign = 1 if maximize else -1
    values = [(0.1, 0.5), (0.9, 0.2), (0.3, 0.4), (0.8,), (0.7, 0.6)]
    islands = [
        [member(10 * number + n, good(sign * each, maximize=maximize)) for n, each in enumerate(island)]
        for number, island in enumerate(values)
    ]
    found = {
        tuple(map(tuple, _values(list(map(list, reset_by(next_reset(islands, 1, (), draw), islands))))))
        for draw in map(Random, range(60))
    }
    assert len(found) == 9, "each of both draws one of three"
    for first, *others, last in found:
        assert [list(each) for each in (others[0], others[2], last)] == [[0.9, 0.2], [0.8], [0.7, 0.6]]
        assert {*first, *others[1]} <= {0.9, 0.8, 0.7}


def test_islands_that_are_equally_good_are_drawn() -> None:
    """At first all have the same program, and every half of them may be the worse one."""
    islands = [[member(0, good(0.5))]] * 4
    halves = {tuple(next_reset(islands, 1, (), Random(seed)).founders) for seed in range(200)}
    assert {frozenset(half) for half in halves} == {
        frozenset({one, other}) for one in range(4) for other in range(one)
    }


def test_a_single_island_is_never_reset() -> None:
    """There is no better one."""
    assert next_reset([[member(0, good(0.5))]], 1, (), Random(0)).founders == {}


# --- campaigns ---------------------------------------------------------------------------------------

_ENDS = st.sampled_from([0.5, 0.6, 0.7, 0.8, 0.9]) | st.none()


def _check(islands: Archipelago, work: Code) -> Place:
    """Hold a program that is about to be planned against what was known before."""
    place, known = place_of(work), {each.id: each for each in islands.attempts}
    shown = [known[each.attempt] for each in place.versions]
    assert all(each.score is not None and not each.rejected for each in shown)
    assert [each.code for each in place.versions] == [
        each.outcome.code for each in shown if each.outcome
    ]
    assert _scores(shown) == sorted(_scores(shown))
    assert len(shown) <= 2
    assert work.parents == tuple(each.id for each in reversed(shown))
    assert (work.operator is Operator.DRAFT) is (not shown) is (place.island is None)
    resets = [place_of(each.work).reset for each in known.values() if each.work.facts.root]
    made = [each.founders for each in [*resets, place.reset] if each]
    founders = {each.get(place.island) for each in made if place.island is not None}
    for each in shown:
        own = place_of(each.work).island if each.work.facts.root else None
        assert own in (place.island, None) or each.id in founders, "islands stay apart"
    return place


@given(data=st.data(), seed=st.integers(0, 99), coders=st.integers(1, 3), count=st.integers(1, 4))
@examples(60)
def test_every_campaign_keeps_the_rules(data: st.DataObject, seed: int, coders: int, count: int) -> None:
    """For any outcomes, versions are scored, of the island or founders, and ascend."""
    islands = Archipelago(
        seed=seed, first=data.draw(st.sampled_from([bad(), good(0.6)])), islands=count, programs=14,
        spec={"coders": coders},
    )  # fmt: skip
    done = []
    while True:
        planned = islands.next()
        assert planned == islands.next(), "the same state, the same plan"
        places = [_check(islands, work) for work in planned]
        done += [place.reset.number for place in places if place.reset]
        islands.begin()
        running = islands.state.works.in_flight()
        if not running:
            break
        name = data.draw(st.sampled_from([record.id for record in running]))
        value = data.draw(_ENDS)
        islands.end(name, bad() if value is None else good(value, "x" * data.draw(st.integers(1, 9))))
        if value == 0.9 and data.draw(st.booleans()):
            islands.record(AttemptRejected(id=name, reason="a checker: it leaks"))
    assert len(islands.attempts) == 15
    assert done == sorted(set(done))
    assert len(islands_of(islands.attempts, count)) == count
