"""Each round draws unread items by scores, votes, tiers and the graph, from seed and round alone."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from comind.agents.comind.parameters import CoMindParameters
from comind.agents.comind.pool import pool_of
from comind.agents.comind.sampling import notebooks_to_start_from, sample_datasets, sample_round
from comind.agents.comind.thoughts import ANALYZE, COORDINATE, OPEN, PROPOSE, Sampled
from comind.campaign.log.campaign_events import CampaignEvent
from comind.campaign.log.outcome import ThinkOutcome
from comind.campaign.log.work import Think
from comind.campaign.worker import execute
from comind.domain.community import CommunityView, Dataset, Discussion, Notebook
from comind.domain.draft import Draft
from comind.testing import ScriptedModel
from tests.unit.agents.community import WHEN, discussion, notebook
from tests.unit.agents.rounds import REPORT, attempt, baseline, drafting, state_of, thought
from tests.unit.agents.samples import agent_for
from tests.unit.campaign.samples import code, scored, split_made
from tests.unit.campaign.world import World

_SEEDS = range(150)


def _view(count: int, further: int = 0, **more: Any) -> CommunityView:
    """Return a community of equal notebooks and discussions."""
    notebooks = tuple(notebook(f"a/n{n}") for n in range(count))
    threads = tuple(discussion(f"t{n}") for n in range(count))
    return CommunityView(
        notebooks=notebooks[: count - further],
        further_notebooks=notebooks[count - further :],
        discussions=threads[: count - further],
        further_discussions=threads[count - further :],
        **more,
    )


def _drawn(view: CommunityView, *events: CampaignEvent, seed: int = 0, rounds: int = 0) -> list[Sampled]:
    """Return what is read after some rounds without a draft, and other events."""
    before = (thought(n, COORDINATE, {"drafts": []}) for n in range(rounds))
    state = state_of(*(events or baseline()), *chain.from_iterable(before), seed=seed)
    return sample_round(state, pool_of(state), view, CoMindParameters())


def _reports(number: int, sampled: Sequence[Sampled]) -> list[CampaignEvent]:
    """Return the thought in which sampled items were read."""
    reports = [REPORT | {"item": each.id, "kind": each.item_type} for each in sampled]
    return thought(number, ANALYZE, {"reports": reports})


def test_a_round_depends_on_seed_and_number_alone() -> None:
    """The same seed and round draw the same; another seed or round draws others."""
    view = _view(60)
    drawn = [_drawn(view, seed=seed, rounds=rounds) for seed, rounds in ((7, 1), (7, 1), (8, 1), (7, 2))]
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]
    assert drawn[0] != drawn[3]


def test_the_first_round_takes_the_top_and_draws_the_rest() -> None:
    """Three of five notebooks and two of three discussions are the top by rank; each says why."""
    view = _view(60)
    first = _drawn(view)
    assert [each.id for each in first if "by rank" in each.why] == ["a/n0", "a/n1", "a/n2", "t0", "t1"]
    assert first[0].why == "number 1 of 60 unread notebooks by rank: freshness 0.20"
    assert [each.item_type for each in first] == ["notebook"] * 5 + ["discussion"] * 3
    later = _drawn(view, rounds=1)
    assert len(later) == 8
    assert all(each.why.startswith("drawn with weight 0.09 of ") for each in later[:5])


def test_every_item_is_read_once() -> None:
    """Over the rounds all sixty notebooks and discussions are read, further ones, too, none twice."""
    view, events, found = _view(60, further=50), baseline(), list[str]()
    for number in range(20):
        sampled = _drawn(view, *events)
        found += (each.id for each in sampled)
        events += _reports(2 * number, sampled)
        events += thought(2 * number + 1, COORDINATE, {"drafts": []})
    assert Counter(found) == Counter([f"a/n{n}" for n in range(60)] + [f"t{n}" for n in range(60)])
    assert _drawn(view, *events) == []


def _share(view: CommunityView, name: str, *events: CampaignEvent) -> float:
    """Return how often an item is read in the second round, over many seeds."""
    drawn = (_drawn(view, *events, seed=seed, rounds=1) for seed in _SEEDS)
    return sum(name in {each.id for each in found} for found in drawn) / len(_SEEDS)


def _changed(view: CommunityView, change: Callable[[Notebook], Notebook]) -> CommunityView:
    """Return a view whose notebook a/n30 differs."""
    return view.model_copy(
        update={"notebooks": tuple(change(n) if n.ref == "a/n30" else n for n in view.notebooks)}
    )


@pytest.mark.parametrize(
    "better",
    [
        {"votes": 90},
        {"author_tier": "Grandmaster"},
        {"public_score": 0.9},
        {"created_at": WHEN + timedelta(days=9)},
    ],
    ids=["votes", "tier", "score", "freshness"],
)
def test_a_notebook_with_more_of_a_quality_is_drawn_more_often(better: dict[str, Any]) -> None:
    """Of equal notebooks, one with votes, a tier, a score or a later date is read more often."""
    view = _view(60)
    raised = _share(_changed(view, lambda each: each.model_copy(update=better)), "a/n30")
    assert raised > 1.4 * _share(view, "a/n30")


@pytest.mark.parametrize("better", [{"votes": 90}, {"author_tier": "expert"}], ids=["votes", "tier"])
def test_a_discussion_with_more_of_a_quality_is_drawn_more_often(better: dict[str, Any]) -> None:
    """Of equal discussions, one with votes or a tier is read more often."""

    def changed(thread: Discussion) -> Discussion:
        return thread.model_copy(update=better) if thread.id == "t30" else thread

    view = _view(60)
    raised = view.model_copy(update={"discussions": tuple(map(changed, view.discussions))})
    assert _share(raised, "t30") > 1.4 * _share(view, "t30")


def test_a_lower_score_is_better_where_it_is_minimized() -> None:
    """The rank of public scores is in the direction of the metric."""

    def scores(each: Notebook) -> Notebook:
        return each.model_copy(update={"public_score": 9.0 if each.ref == "a/n30" else 1.0})

    view = _view(60)
    view = view.model_copy(update={"notebooks": tuple(map(scores, view.notebooks))})
    up, down = ((split_made(maximize=maximize), *baseline()) for maximize in (True, False))
    assert _share(view, "a/n30", *up) > 1.4 * _share(view, "a/n30", *down)


def test_what_others_came_from_is_drawn_more_often() -> None:
    """A notebook that others fork, and one from which a solution came, are read more often."""
    view = _view(60)
    forks = tuple(
        each.model_copy(update={"forked_from": "a/n30"}) if each.ref in {"a/n31", "a/n32"} else each
        for each in view.notebooks
    )
    forked = view.model_copy(update={"notebooks": forks})
    plain, used = _share(view, "a/n30"), _share(forked, "a/n30")
    assert used > 1.4 * plain
    draft = Draft(title="d", method="m", sources=("a/n31",))
    tried = code().model_copy(update={"draft": draft})
    gains = [
        (*baseline(), *attempt(1, tried, scored(value)), *attempt(2, code(), scored(0.8)))
        for value in (0.9, 0.1)
    ]
    best, worst = (_share(forked, "a/n30", *each) for each in gains)
    assert best > 1.1 * worst, "more so if what came of it scored well"


def test_a_campaign_reads_new_notebooks_in_each_round() -> None:
    """With sixty notebooks, rounds one, two and three read five each, none of them twice."""
    agent = agent_for(community=_view(60, further=50))
    events, seen = baseline(), list[str]()
    for number in range(3):
        planned = agent.plan(state_of(*events, iterations=None))
        assert isinstance(planned, list)
        sampled = [
            each
            for work in planned
            if work.kind == "think" and work.purpose == ANALYZE.name
            for each in ANALYZE.facts_of(work).sampled
        ]
        seen += (each.id for each in sampled if each.item_type == "notebook")
        events += _reports(10 * number, sampled)
        events += thought(10 * number + 1, COORDINATE, {"drafts": []})
    assert len(seen) == len(set(seen)) == 15


def _datasets(*names: str, files: bool = True) -> tuple[Dataset, ...]:
    return tuple(Dataset(ref=name, version=1, title=name, files=files) for name in names)


def test_datasets_are_drawn_for_each_round() -> None:
    """Five of those with files are offered, in the order of the view; in later rounds others."""
    names = [f"d/d{n}" for n in range(20)]
    view = _view(1, datasets=(*_datasets("d/none", files=False), *_datasets(*names)))
    offered, events = set[str](), baseline()
    for number in range(8):
        facts = COORDINATE.facts_of(drafting(state_of(*events), view))
        refs = [each.ref for each in facts.datasets]
        assert refs == sorted(refs, key=names.index)
        assert len(refs) == 5
        offered |= set(refs)
        events += thought(number, OPEN if number % 2 else COORDINATE, {"drafts": []})
    assert len(offered) > 12
    assert "d/none" not in offered


@pytest.mark.parametrize("why", ["read", "used"])
def test_a_dataset_of_a_notebook_is_offered_more_often(why: str) -> None:
    """One that a notebook declares is offered more often, and still more if that was read."""
    view = _view(3, datasets=_datasets(*(f"d/d{n}" for n in range(20))))
    users = tuple(each.model_copy(update={"datasets": ("d/d7",)}) for each in view.notebooks)
    user = view.model_copy(update={"notebooks": users})
    read = thought(0, ANALYZE, {"reports": [REPORT | {"item": "a/n1"}]})

    def share(of: CommunityView, *events: CampaignEvent) -> float:
        states = [state_of(*baseline(), *events, seed=seed) for seed in range(200)]
        found = [sample_datasets(state, pool_of(state), of, 3) for state in states]
        return sum("d/d7" in {each.ref for each in drawn} for drawn in found) / 200

    more, less = (share(user, *read), share(user)) if why == "read" else (share(user), share(view))
    assert more > 1.4 * less


def test_a_further_notebook_that_was_read_can_be_started_from(tmp_path: Path) -> None:
    """It is offered before the lowest of the first ten; unread further ones are not."""
    view = _view(30, further=20)
    state = state_of(*baseline(), *thought(0, ANALYZE, {"reports": [REPORT | {"item": "a/n25"}]}))
    offered = [each.ref for each in notebooks_to_start_from(state, pool_of(state), view)]
    assert offered == [*(f"a/n{n}" for n in range(9)), "a/n25"]
    world = World(tmp_path)
    reply = {"title": "d", "kind": "novel", "method": "m", "start_from": "a/n25"}
    world.model = ScriptedModel([json.dumps({"drafts": [reply]})])
    folder = world.folder.work("think-001")
    outcome = execute(agent_for(community=view), drafting(state, view), folder, world.dependencies())
    assert isinstance(outcome, ThinkOutcome)
    [draft] = COORDINATE.result.model_validate(outcome.result.root).drafts
    assert draft.codebase == view.all_notebooks[25].source


def test_the_number_of_datasets_is_a_parameter() -> None:
    """A campaign's drafts are offered as many datasets as its parameter says."""
    view = _view(1, datasets=_datasets("d/one", "d/two", "d/three"))
    agent = agent_for(community=view, parameters=CoMindParameters(datasets_per_round=2))
    state = state_of(*baseline(), *thought(0, PROPOSE, {"ideas": []}), iterations=None)
    planned = agent.plan(state)
    assert isinstance(planned, list)
    [work] = planned
    assert isinstance(work, Think)
    assert len(COORDINATE.facts_of(work).datasets) == 2
