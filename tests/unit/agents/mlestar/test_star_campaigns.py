"""Whole campaigns of MLE-STAR: searched, merged, refined, combined, and resumed."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from comind.agents.mlestar import MleStar
from comind.agents.mlestar.mlestar import _has_time
from comind.agents.mlestar.mlestar import _report as _report_of
from comind.agents.mlestar.model_search import SEARCH
from comind.agents.mlestar.star_requests import PROMPTS
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.worker import execute
from comind.domain.community import CommunityView, Discussion, Notebook
from comind.domain.environment import StoreItem
from comind.domain.resources import Resources
from comind.domain.spend import Budget, Spend
from comind.errors import UsageError
from comind.llm.model_ports import ModelRequest
from comind.testing import ScriptedModel
from tests.unit.agents.mlestar.stars import Star, answer, run_star
from tests.unit.campaign.samples import spec
from tests.unit.campaign.world import World

pytestmark = pytest.mark.slow

_VIEW = CommunityView()
Ran = tuple[World, CampaignState]


@pytest.fixture(scope="module")
def star(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A campaign of two solutions with all phases, run to its end."""
    return run_star(tmp_path_factory.mktemp("star"))


def _rows(state: CampaignState) -> list[tuple[Any, ...]]:
    return [
        (a.work.draft.strategy, a.work.parents, a.score and a.score.value.value)
        for a in state.works.attempts()
    ]


def _report(state: CampaignState, kind: str) -> str:
    [outcome] = [a.outcome for a in state.works.attempts() if a.work.draft.strategy == kind]
    assert outcome is not None
    return outcome.report


def test_all_phases_follow_each_other(star: Ran) -> None:
    """Candidates, merges, refinements and the ensemble; the solutions take turns."""
    rows = _rows(star[1])
    assert rows[:2] == [("candidate 1.1", (), 0.11), ("candidate 2.1", (), 0.11)]
    assert sorted(kind for kind, _, _ in rows) == sorted(
        [
            *(f"candidate {s}.{n}" for s in (1, 2) for n in (1, 2)),
            *(f"merge {s}.1" for s in (1, 2)),
            *(f"refine {s}.{n}" for s in (1, 2) for n in (1, 2)),
            "ensemble 0.0",
        ]
    )
    assert [kind[-3] for kind, _, _ in rows[:-1]] == ["1", "2"] * 5
    assert rows[-1][2] == 0.4
    assert star[1].ended is not None
    assert star[1].ended.detail == "2 of 2 solutions are refined and combined"


def test_a_program_that_fails_is_debugged(star: Ran) -> None:
    """The second candidate crashes first."""
    [net] = [a for a in star[1].works.attempts() if a.work.draft.strategy == "candidate 1.2"]
    assert net.outcome is not None
    assert net.outcome.steps == 2
    assert net.score is not None


def test_a_refinement_changes_the_block_with_the_largest_effect(star: Ran) -> None:
    """The study's results are read from its output, and each plan starts from the same program."""
    first, second = (_report(star[1], f"refine 1.{n}") for n in (1, 2))
    assert "- forest: -10.0" in first
    assert "```python\nmean = 3\n```" in first
    assert "- Less of mean = 3. Result: written 0.13" in first
    assert "- More of it. Result: written 0.19" in first
    assert "```python\nforest = 10\n```" in second, "a refined block is not chosen again"
    asked = [r.messages[-1].content for r in star[0].model.requests if r.reply_name == "NextPlan"]
    assert "- Less of mean = 3. Result: written 0.13" in asked[0]


def test_a_refinement_without_a_report_leaves_its_plans(star: Ran) -> None:
    """Such as one whose time was over: the next refinement sees plans and scores."""
    [refined] = [a for a in star[1].works.attempts() if a.work.draft.strategy == "refine 1.1"]
    assert refined.outcome is not None
    cut_off = replace(refined, outcome=refined.outcome.model_copy(update={"report": ""}))
    assert "- Less of mean = 3. Result: written 0.13" in _report_of(cut_off)


def test_prompts_list_the_users_own_models() -> None:
    """With the line that loads each, and what those of the shipped list are good for."""
    item = StoreItem(name="own/net", path="store/net", format="timm", load="timm.create_model('x')")
    known = item.model_copy(update={"path": "store/known", "about": "images; licence: mit"})
    shown = PROMPTS.render("platform/machine", resources=Resources(models=(item, known)))
    assert "- store/net: timm.create_model('x')\n" in shown
    assert "- store/known: timm.create_model('x') (images; licence: mit)" in shown


def test_an_ensemble_learns_from_earlier_strategies(star: Ran) -> None:
    """It gets the programs and the mounted predictions of the best of each solution."""
    [combined] = [a for a in star[1].works.attempts() if a.work.draft.strategy == "ensemble 0.0"]
    members = [a.id for a in star[1].works.attempts() if a.work.draft.strategy.endswith(".2")][-2:]
    assert list(combined.work.draft.members) == list(combined.work.inputs) == members
    asked = [r.messages[-1].content for r in star[0].model.requests if r.reply_name == "Strategy"]
    assert "- A mean. Result: written 0.3" in asked[1]
    assert f"## {members[0]}" in asked[0]


def test_knowledge_leads_to_candidates(star: Ran) -> None:
    """An entry that a candidate comes from is a source of its draft, and in the lineage."""
    [search] = star[1].works.thoughts(SEARCH)
    assert search.result is not None
    forest, net = search.result.candidates
    assert forest.sources == (search.result.entries[0].id,)
    assert net.sources == ()
    graph = MleStar.graph(star[1], _VIEW)
    assert graph.is_ancestor(f"idea:{forest.sources[0]}", "solution:attempt-000")
    assert f"(from {forest.sources[0]})" in MleStar.journal(star[1], _VIEW)


def test_any_prefix_of_the_campaign_continues_to_the_same_end(star: Ran, tmp_path: Path) -> None:
    """Killed after any event of the campaign, it resumes to the same works without another request."""
    world, expected = star
    lines = world.folder.log.read_bytes().splitlines(keepends=True)
    for cut in range(1, len(lines), 3):
        root = tmp_path / str(cut)
        shutil.copytree(world.root, root)
        log = root / "runs" / world.folder.name / world.folder.log.name
        log.write_bytes(b"".join(lines[:cut]))
        again, state = run_star(root)
        assert _rows(state) == _rows(expected)
        assert again.model.requests == []


@pytest.mark.parametrize("kind", ["search", "candidate 1.2", "merge 1.1", "refine 1.1", "ensemble 0.0"])
def test_work_that_was_killed_continues(kind: str, star: Ran, tmp_path: Path) -> None:
    """Killed after any record of a phase, it replays what was recorded and asks for the rest alone."""
    world, state = star
    kinds = {a.id: a.work.draft.strategy for a in state.works.attempts()}
    [record] = [each for each in state.works if kinds.get(each.id, "search") == kind]
    log = Path("runs", world.folder.name, record.id, "log.jsonl")
    events = (world.root / log).read_bytes().splitlines(keepends=True)
    asked = []
    for cut in range(len(events)):
        root = tmp_path / str(cut)
        shutil.copytree((world.root / log).parent, (root / log).parent)
        (root / log).write_bytes(b"".join(events[:cut]))
        again = Star(root)
        again.model = ScriptedModel(answer)
        outcome = execute(world.agent, record.work, again.folder.work(record.id), again.dependencies())
        spent = {"spend": Spend()}
        assert record.outcome is not None
        assert outcome.model_copy(update=spent) == record.outcome.model_copy(update=spent)
        asked.append(len(again.model.requests))
    assert asked == sorted(asked, reverse=True)
    assert asked[-1] == 0


@pytest.mark.parametrize(
    ("how", "missing"),
    [
        ({"search": False}, {"Labels"}),
        ({"knowledge": "none"}, {"Labels"}),
        ({"ensemble": False}, {"Strategy"}),
        ({"solutions": 1}, {"Strategy"}),
        ({"leakage_check": False}, {"Leakage"}),
        ({"usage_check": False}, {"Usage"}),
        ({"outer": 0}, {"Target", "Usage"}),
    ],
    ids=lambda each: next(iter(each)) if isinstance(each, dict) else "",
)
def test_ablations(how: dict[str, Any], missing: set[str], tmp_path: Path) -> None:
    """Each part can be left out by a parameter, and costs no calls then."""
    world, state = run_star(tmp_path, **how)
    asked = {request.reply_name for request in world.model.requests}
    assert not asked & missing
    assert "Program" in asked
    assert state.ended is not None
    assert "## Candidate models" in MleStar.journal(state, _VIEW)


def test_without_a_search_the_model_names_candidates_from_memory(tmp_path: Path) -> None:
    """It sees no material, and its candidates differ all the same."""
    thread = Discussion(id="7", title="T", author="a", body="Use trees.", votes=1)
    view = CommunityView(discussions=(thread,))
    world, state = run_star(tmp_path, view=view, search=False, outer=0, ensemble=False)
    [asked] = [r.messages[-1].content for r in world.model.requests if r.reply_name == "Models"]
    assert "# What was found" not in asked
    assert [a.title for a in state.works.attempts()[:4:2]] == ["Forest", "Net"]


def _one_model(request: ModelRequest) -> str:
    said = json.loads(answer(request))
    return json.dumps({"models": said["models"][:1]} if request.reply_name == "Models" else said)


def _no_model(request: ModelRequest) -> str:
    if "the model that fits best" in request.messages[-1].content:
        return json.dumps({"code": "data = 1\nforest = 10\nsubmit"})
    return "{}" if request.reply_name == "Models" else answer(request)


@pytest.mark.parametrize(
    ("said", "title"), [(_one_model, "Forest"), (_no_model, "the model that fits best")]
)
def test_as_many_candidates_are_tried_as_were_found(said: Any, title: str, tmp_path: Path) -> None:
    """Without any, each solution has one of the model's own choice."""
    _, state = run_star(tmp_path, said, outer=0, ensemble=False)
    assert [a.title for a in state.works.attempts()] == [title, title]


def test_without_an_ablation_study_a_block_is_chosen_all_the_same(tmp_path: Path) -> None:
    """Nothing is measured, and the block is the one that matters by the model's opinion."""
    world, state = run_star(tmp_path, ablation=False, ensemble=False)
    assert not any(code.startswith("study") for code in world.ran)
    assert "Ablation study" not in _report(state, "refine 1.1")
    assert "```python\nmean = 3\n```" in _report(state, "refine 1.1")


def _leaking(request: ModelRequest) -> str:
    said = json.loads(answer(request))
    if request.reply_name == "Program" and said["code"] == "data = 1\nforest = 10\nsubmit":
        said["code"] = "leaky = 90\nforest = 10\nsubmit"
    return json.dumps(said)


def test_a_planted_leak_is_found_and_mended(tmp_path: Path) -> None:
    """The program that runs has the corrected block, and the journal says so."""
    world, state = run_star(tmp_path, _leaking, outer=0, ensemble=False)
    assert "clean = 1\nforest = 10\nsubmit" in world.ran
    assert not any("leaky" in code for code in world.ran)
    assert "leakage, corrected: It sees labels." in MleStar.journal(state, _VIEW)


def _miscopying(request: ModelRequest) -> str:
    said = json.loads(_leaking(request))
    if said.get("leaks"):
        said["block"] = "leaky=90"
    return json.dumps(said)


def test_a_block_that_is_not_in_the_program_is_asked_for_again(tmp_path: Path) -> None:
    """Three times; then the program runs as it is, with a note."""
    world, state = run_star(tmp_path, _miscopying, models=1, outer=0, solutions=1)
    checks = [r for r in world.model.requests if r.reply_name == "Leakage"]
    assert len(checks) == 3
    assert "This block is not in the program:\nleaky=90" in checks[1].messages[-1].content
    assert world.ran == ["leaky = 90\nforest = 10\nsubmit"]
    assert "leakage, not corrected" in MleStar.journal(state, _VIEW)


def _uncorrected(request: ModelRequest) -> str:
    reply = json.loads(_leaking(request))
    return json.dumps(reply | {"corrected": ""} if reply.get("leaks") else reply)


@pytest.mark.parametrize("model", [_miscopying, _uncorrected])
def test_a_leak_that_is_not_corrected_is_not_the_result(model: Any, tmp_path: Path) -> None:
    """Its score is the best by far; neither the pick nor a later program comes from it."""
    world, state = run_star(tmp_path, model, outer=1, solutions=1)
    [leaky] = state.works.rejected()
    assert leaky.work.draft.strategy == "candidate 1.1"
    assert leaky.rejected.startswith("the checker: leakage")
    assert state.picked is not None
    picked = state.works.attempt(state.picked.work_id)
    assert picked.outcome is not None
    assert "leaky" not in picked.outcome.code
    assert [code for code in world.ran if "leaky" in code] == ["leaky = 90\nforest = 10\nsubmit"]


def _clean_with_a_block(request: ModelRequest) -> str:
    said = json.loads(answer(request))
    return json.dumps(said | {"block": "nothing of it"} if "leaks" in said else said)


def test_the_block_of_a_program_without_leakage_does_not_matter(tmp_path: Path) -> None:
    """It is asked for once, and nothing is noted."""
    world, state = run_star(tmp_path, _clean_with_a_block, models=1, outer=0, solutions=1)
    assert len([r for r in world.model.requests if r.reply_name == "Leakage"]) == 1
    assert "leakage" not in MleStar.journal(state, _VIEW)


def _without_a_study(request: ModelRequest) -> str:
    asked = [each.content for each in request.messages]  # a retry has another last message
    return "{}" if "Write an ablation study" in "\n".join(asked) else answer(request)


def _without_a_second_plan(request: ModelRequest) -> str:
    return "{}" if request.reply_name == "NextPlan" else answer(request)


@pytest.mark.parametrize(
    ("said", "note"),
    [
        (_without_a_study, "- ablation study: "),
        (_without_a_second_plan, "- ended after 1 of 2 rounds: "),
    ],
)
def test_a_reply_that_fails_leaves_the_rest_of_a_refinement(
    said: Any, note: str, tmp_path: Path
) -> None:
    """Its report still has the block, so that it is not chosen again."""
    _, state = run_star(tmp_path, said, outer=1, solutions=1)
    report = _report(state, "refine 1.1")
    assert note in report
    assert "```python\nmean = 3\n```" in report
    assert "- Less of mean = 3. Result: written 0.13" in report


def _unused(request: ModelRequest) -> str:
    if request.reply_name == "Usage":
        return json.dumps({"complete": False, "unused": ["extra.csv"]})
    if "The program leaves out extra.csv" in request.messages[-1].content:
        return json.dumps({"code": "data = 1\nforest = 10\nmean = 3\nextra = 7\nsubmit"})
    return answer(request)


def test_an_unused_file_is_noticed(tmp_path: Path) -> None:
    """The program that uses it is the one that is refined."""
    _, state = run_star(tmp_path, _unused, outer=1, solutions=1)
    assert "data usage: extra.csv was not used; with it: written 0.21" in _report(state, "refine 1.1")
    assert "```python\nextra = 7\n```" in _report(state, "refine 1.1")


def _worse_merge(request: ModelRequest) -> str:
    if "integrates the second" in request.messages[-1].content:
        return json.dumps({"code": "mean = 2\nsubmit"})
    return answer(request)


def test_merging_stops_where_it_does_not_gain(tmp_path: Path) -> None:
    """The third candidate is not merged, and the best candidate is refined."""
    _, state = run_star(tmp_path, _worse_merge, models=3, outer=1, solutions=1)
    kinds = [kind for kind, _, _ in _rows(state)]
    assert kinds.count("merge 1.1") == 1
    assert "merge 1.2" not in kinds
    assert _rows(state)[-1][1] == ("attempt-000",)


def test_a_model_without_programs_ends(tmp_path: Path) -> None:
    """If no reply can be parsed, the candidates fail and the campaign ends."""
    _, state = run_star(tmp_path, lambda request: "{}")
    assert {kind.split()[0] for kind, _, _ in _rows(state)} == {"candidate"}
    assert state.ended is not None
    assert "0 of 2 solutions" in state.ended.detail
    assert "Ended early" in MleStar.journal(state, _VIEW)


def test_the_last_share_of_the_time_is_for_the_ensemble(tmp_path: Path) -> None:
    """No refinement begins in it."""
    _, state = run_star(tmp_path, ensemble_time=1.0)
    kinds = [kind for kind, _, _ in _rows(state)]
    assert not any(kind.startswith("refine") for kind in kinds)
    assert kinds[-1] == "ensemble 0.0"


def test_time_is_left_where_there_is_no_limit_or_more_than_the_share() -> None:
    """The share is one of the campaign's whole time."""
    limited = CampaignState(opened=spec(), budget=Budget(seconds=100))
    assert _has_time(limited, 0.99)
    spent = replace(limited, spend=Spend(seconds=90))
    assert not _has_time(spent, 0.15)
    assert _has_time(replace(spent, budget=Budget(seconds=None)), 0.15)


def test_candidates_of_both_solutions_run_at_once(tmp_path: Path) -> None:
    """As many attempts are planned as there are coders."""
    _, state = run_star(tmp_path, coders=4)
    assert len(_rows(state)) == 11


def test_the_community_is_searched(tmp_path: Path) -> None:
    """Notebooks and discussions with the most votes are material, and sources of candidates."""
    notebook = Notebook(ref="a/b", version=1, title="N", author="a", votes=3, source="fit(best)")
    thread = Discussion(id="7", title="T", author="a", body="Use trees.", votes=1)
    view = CommunityView(notebooks=(notebook,), discussions=(thread,))
    world, state = run_star(tmp_path, view=view, knowledge="none", outer=0, ensemble=False)
    [asked] = [r.messages[-1].content for r in world.model.requests if r.reply_name == "Models"]
    assert "1. <<<\nN: fit(best)" in asked
    assert "2. <<<\nT: Use trees." in asked
    assert state.works.attempts()[0].work.draft.sources == ("a/b",)


def test_model_cards_are_searched(tmp_path: Path) -> None:
    """A folder of Markdown files is a base; its content is pinned."""
    cards = tmp_path / "cards"
    cards.mkdir()
    (cards / "my net.md").write_text("# A net for tables\n2020-01-01\nUse it with care.")
    world, state = run_star(tmp_path / "run", knowledge="none", cards=str(cards), outer=0)
    [asked] = [r.messages[-1].content for r in world.model.requests if r.reply_name == "Models"]
    assert "A net for tables" in asked
    assert state.works.attempts()[0].work.draft.sources == ("my-net",)


def test_the_web_is_searched_on_request(tmp_path: Path) -> None:
    """A model of the role searcher answers; what it finds is material."""
    world, _ = run_star(tmp_path, web_search=True, knowledge="none", outer=0, ensemble=False)
    searched, chosen = (r for r in world.model.requests if r.reply_name == "Models")
    assert (searched.role, chosen.role) == ("searcher", "retriever")
    assert "1. <<<\nForest: Trees." in chosen.messages[-1].content


def _offline(request: ModelRequest) -> str:
    return "{}" if request.role == "searcher" else answer(request)


def test_a_web_search_that_fails_is_noted(tmp_path: Path) -> None:
    """The campaign goes on with what it has."""
    _, state = run_star(tmp_path, _offline, web_search=True, outer=0, ensemble=False)
    assert "- search failed: models" in MleStar.journal(state, _VIEW)
    assert state.works.attempts()[0].score is not None


def test_a_web_search_is_refused_under_an_as_of_time() -> None:
    """The web shows what came later."""
    from datetime import UTC, datetime

    given = spec(parameters={"web_search": True}, as_of=datetime(2024, 1, 1, tzinfo=UTC))
    with pytest.raises(
        UsageError,
        match="visible as of 2024-01-01 00:00 UTC, and the web shows what was published later",
    ):
        MleStar.check(given)
    MleStar.check(spec(parameters={"web_search": True}))


def test_an_estimate_counts_calls() -> None:
    """The estimate names programs and solutions, and leaves out parts that are off."""
    small = {"models": 2, "outer": 1, "inner": 2, "solutions": 2, "ensemble_rounds": 3}
    expected = MleStar.estimate(spec(parameters=small))
    assert "13 programs of 2 solutions" in str(expected)


def test_solutions_are_not_told_what_others_measured(star: Ran) -> None:
    """The work has the facts of earlier attempts, and no prompt has them: solutions are independent."""
    world, state = star
    assert any(each.work.measured.attempts for each in state.works.attempts())
    asked = [m.content for request in world.model.requests for m in request.messages]
    assert not any("# Measured facts" in each for each in asked)
