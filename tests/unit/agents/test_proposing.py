"""The Idea Proposer: what it is shown, how ideas are filtered and ranked, and where they come from."""

import json
from pathlib import Path
from typing import Any

import pytest

from comind.agents.comind.idea_proposer import best_reports
from comind.agents.comind.idea_sources import Claim, Sources
from comind.agents.comind.memos import IdeaMemo, ReportMemo
from comind.agents.comind.parameters import CoMindParameters
from comind.agents.comind.pool import pool_of
from comind.agents.comind.thoughts import ANALYZE, PROPOSE, Proposing
from comind.campaign.log.campaign_events import CampaignEvent
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import ThinkOutcome
from comind.campaign.log.work import Think
from comind.campaign.worker import execute
from comind.domain.draft import Draft
from comind.domain.problem import Problem
from comind.llm.model_ports import ModelRequest
from comind.llm.tokens import count_tokens
from comind.testing import ScriptedModel
from tests.unit.agents.community import VIEW
from tests.unit.agents.rounds import (
    IDEA,
    REPORT,
    after_one_round,
    attempt,
    baseline,
    drafting,
    proposing,
    state_of,
    thought,
)
from tests.unit.agents.samples import PROBLEM, agent_for
from tests.unit.campaign.samples import code, scored
from tests.unit.campaign.world import World

_LARGE, _SMALL = 131_072, 8_192
_AXES = ("novelty", "feasibility", "effectiveness", "efficiency")
_RATED = {"feasibility": 5, "potential": 5, "agreement": 5}
_TOLD = {
    "reasons": "Because trees do well.",
    "weaknesses": ["It reads the ids.", "One seed."],
    "claim": "public score 0.91",
    "reproduced": "attempt-001: accuracy 0.8",
    "components": [
        {"name": "the forest", **dict.fromkeys(_AXES, 7), "confidence": 3},
        {"name": "the scaler", **dict.fromkeys(_AXES, 2)},
    ],
    "code": "forest = ExtraTreesClassifier()",
}
"""What a report tells beside its ratings."""


def _reported(*reports: dict[str, Any]) -> CampaignState:
    """Return a campaign whose first round has read these."""
    return state_of(*baseline(), *thought(0, ANALYZE, {"reports": [REPORT | each for each in reports]}))


def _ranked(*reports: dict[str, Any]) -> tuple[ReportMemo, ...]:
    state = _reported(*reports)
    return best_reports(state, pool_of(state))


def _paths(*ideas: dict[str, Any]) -> dict[str, Any]:
    return {"paths": [{"approach": "Trees.", "ideas": list(ideas)}]}


def _kept(*made_from: object, text: str = "Deeper trees", **ratings: int) -> dict[str, Any]:
    return {"text": text, "made_from": list(made_from), **_RATED, **ratings}


def _proposed(
    root: Path,
    state: CampaignState,
    *replies: dict[str, Any],
    context: int = _LARGE,
    problem: Problem = PROBLEM,
    work: Think | None = None,
    **parameters: Any,
) -> tuple[dict[str, Any], list[ModelRequest]]:
    """Propose ideas on replies; return the result and the requests."""
    world = World(root)
    world.model = ScriptedModel([json.dumps(each) for each in replies], context_tokens=context)
    agent = agent_for(problem, parameters=CoMindParameters(**parameters), community=VIEW)
    work = work or proposing(state)
    outcome = execute(agent, work, world.folder.work("think-000"), world.dependencies())
    assert isinstance(outcome, ThinkOutcome)
    assert outcome.failure is None, outcome.failure
    return dict(outcome.result.root), world.model.requests


def _text(request: ModelRequest) -> str:
    return "\n".join(message.content for message in request.messages)


_ONE = _paths({"text": "Grow a forest."})
_SELECTED = {"ideas": [_kept("N1")]}


# --- what is shown --------------------------------------------------------------------------------


@pytest.mark.parametrize("context", [_SMALL, _LARGE])
@pytest.mark.parametrize("axis", [*_AXES, "confidence"])
def test_each_rating_of_a_report_is_shown(axis: str, context: int, tmp_path: Path) -> None:
    """Brainstorm and filtering see all axes and the confidence of a report, in any context window."""
    state = _reported(dict.fromkeys([*_AXES, "confidence"], 2) | {axis: 7})
    _, requests = _proposed(tmp_path, state, _ONE, _SELECTED, context=context)
    assert [request.reply_name for request in requests] == ["Brainstorm", "Selection"]
    assert all(f"{axis} 7" in _text(request) for request in requests)


@pytest.mark.parametrize("axis", [*_AXES, "confidence"])
def test_each_rating_of_a_report_moves_it_up(axis: str) -> None:
    """Of two reports that differ in one rating, the higher one is shown first."""
    names = ("high", "low")
    for order in (names, names[::-1]):
        items = [{"item": name, axis: {"high": 5, "low": 4}[name]} for name in order]
        ranked = _ranked(*items)
        assert [report.item for report in ranked] == ["high", "low"]


def test_of_equal_reports_reproduced_ones_come_first() -> None:
    """Reports of equal ratings are shown reproduced ones first, then the latest."""
    items = [{"item": "run", "reproduced": "attempt-001: 0.8"}, {"item": "old"}, {"item": "new"}]
    ranked = _ranked(*items)
    assert [report.item for report in ranked] == ["run", "new", "old"]


def test_what_was_reproduced_after_it_was_read_is_told_so() -> None:
    """An attempt that starts from a notebook later on is in its report from then on."""
    events = [*baseline(), *thought(0, ANALYZE, {"reports": [REPORT]})]
    draft = Draft(title="from it", method="m", sources=(REPORT["item"],))
    events += attempt(1, code().model_copy(update={"draft": draft}), scored(0.8))
    state = state_of(*events)
    [memo] = best_reports(state, pool_of(state))
    assert memo.reproduced == "attempt-001: accuracy 0.8 [0.8, 0.8]"


def test_the_report_on_the_best_attempt_is_always_shown() -> None:
    """It comes first, whatever its ratings, so that no limit on reports leaves it out."""
    worst = dict.fromkeys([*_AXES, "confidence"], 0)
    items = [
        {"item": "attempt-000", "kind": "solution"} | worst,
        *({"item": f"a/{n}"} for n in range(40)),
    ]
    ranked = _ranked(*items)
    assert ranked[0].item == "attempt-000"


@pytest.mark.parametrize("told", _TOLD)
def test_what_a_report_tells_is_shown_with_it(told: str, tmp_path: Path) -> None:
    """Reasons, weaknesses, claim, scores, best components and code reach brainstorm and filtering."""
    words = {
        "reasons": "Reasons: Because trees do well.",
        "weaknesses": "Weaknesses: It reads the ids.; One seed.",
        "claim": "Its author claims: public score 0.91 (measured elsewhere)",
        "reproduced": "Scored here: attempt-001: accuracy 0.8",
        "components": "the forest (novelty 7, confidence 3); the scaler (novelty 2)",
        "code": "forest = ExtraTreesClassifier()",
    }[told]
    _, requests = _proposed(tmp_path, _reported(_TOLD), _ONE, _SELECTED)
    assert all(words in _text(request) for request in requests)


def test_a_small_model_is_told_ratings_and_scores(tmp_path: Path) -> None:
    """At 8k tokens a report has its ratings, summary, ideas and scores measured here, on few lines."""
    _, requests = _proposed(tmp_path, _reported(_TOLD), _ONE, _SELECTED, context=_SMALL)
    ratings = "novelty 2, feasibility 9, effectiveness 6, efficiency 8, confidence 4"
    line = f"R1. ben/forest, About ben/forest ({ratings}; scored here: attempt-001: accuracy 0.8): "
    report = f"{line}{REPORT['summary']}\n- Use extra trees.\n\n# Ideas"
    assert all(report in _text(request) for request in requests)


def test_filtering_continues_the_brainstorm(tmp_path: Path) -> None:
    """Filtering has the brainstorm's messages and its reply with labels, and repeats none of them."""
    state = after_one_round()
    paths = _paths({"text": "Grow  a forest.", "sources": ["R1"]}, {"text": "Scale."})
    _, [first, second] = _proposed(tmp_path, state, paths, _SELECTED)
    assert second.messages[:2] == first.messages
    assert [message.role for message in second.messages] == ["system", "user", "assistant", "user"]
    assert json.loads(second.messages[2].content)["paths"][0]["ideas"] == [
        {"number": "N1", "text": "Grow a forest.", "sources": ["R1"]},
        {"number": "N2", "text": "Scale.", "sources": []},
    ]
    for once in (PROBLEM.description, PROBLEM.preview, REPORT["summary"], "Grow a forest."):
        assert _text(second).count(str(once)) == 1


@pytest.mark.parametrize(("context", "most"), [(_SMALL, 14), (_LARGE, 40)])
def test_a_long_conversation_fits_the_context(context: int, most: int, tmp_path: Path) -> None:
    """Whatever reports, ideas and replies hold, filtering fits the window; new ideas are limited."""
    long = "The mean of the target by user and week, smoothed with 20 rows, gains much. " * 40
    report = _TOLD | {"summary": long, "reasons": long, "reproduced": long, "ideas": [long] * 6}
    ideas = [{"id": f"idea-{n:03d}", "text": long, "value": 4} for n in range(30)]
    state = state_of(
        *baseline(),
        *thought(0, ANALYZE, {"reports": [REPORT | report] * 40}),
        *thought(1, PROPOSE, {"ideas": ideas}),
        *[event for number in range(30) for event in _tried(number + 1, f"idea-{number:03d}")],
    )
    paths = _paths(*[{"text": f"{long} {number}", "sources": ["R1", "I2"]} for number in range(50)])
    problem = PROBLEM.model_copy(update={"description": 50 * long, "preview": 10 * long})
    result, requests = _proposed(tmp_path, state, paths, _SELECTED, context=context, problem=problem)
    assert len(result["brainstormed"]) == most
    assert f"numbers N1 to N{most}" in requests[1].messages[3].content
    for request in requests:
        read = sum(count_tokens(message.content) for message in request.messages)
        assert read + request.max_tokens < 0.98 * context


def _tried(number: int, idea: str) -> list[CampaignEvent]:
    draft = Draft(title=idea, method="m", sources=(idea,))
    return attempt(number, code().model_copy(update={"draft": draft}), scored(0.8))


def test_the_best_of_memory_is_shown(tmp_path: Path) -> None:
    """Without room for all ideas, untried ones are shown first, then the most valued, with results."""
    values = [9, 3, *[2] * 11, 8, 1]
    ideas = [
        {"id": f"idea-{number:03d}", "text": f"Thought {number}.", "value": value}
        for number, value in enumerate(values)
    ]
    events = [*baseline(), *thought(0, PROPOSE, {"ideas": ideas})]
    state = state_of(*events, *_tried(1, "idea-000"), *_tried(2, "idea-001"))
    _, requests = _proposed(tmp_path, state, _paths(), context=_SMALL)
    shown = requests[0].messages[-1].content
    assert "I1. Thought 13. (value 8; not tried)\nI2. Thought 12. (value 2; not tried)" in shown
    assert "I13. Thought 14. (value 1; not tried)" in shown
    assert "I14. Thought 0. (value 9; tried: attempt-001: accuracy 0.8 [0.8, 0.8])" in shown
    assert "Thought 1." not in shown


def test_facts_of_older_logs_are_shown_as_far_as_they_go(tmp_path: Path) -> None:
    """Reports and ideas without the newer ratings are read, and shown with what they have."""
    report = {
        "item": "a/b",
        "title": "t",
        "summary": "s",
        "effectiveness": 6,
        "confidence": 4,
        "ideas": [],
    }
    old = {"reports": [report], "ideas": [{"id": "idea-000", "text": "x", "value": 0}], "wanted": 2}
    work = PROPOSE.work(Proposing.model_validate(old))
    _, requests = _proposed(tmp_path, _reported(), _ONE, _SELECTED, work=work)
    asked = requests[0].messages[-1].content
    assert "R1. a/b, t (effectiveness 6, confidence 4): s" in asked
    assert "I1. x (not rated; not tried)" in asked


# --- where ideas come from ------------------------------------------------------------------------


def test_ideas_come_from_what_they_name(tmp_path: Path) -> None:
    """The sources of a kept idea are those of all that it was made from, each once."""
    state = after_one_round()
    paths = _paths(
        {"text": "Forest of extra trees", "sources": ["R1"]},
        {"text": "More of them", "sources": ["R1", "I1"]},
        {"text": "Fly"},
    )
    kept = {
        "ideas": [
            _kept("N1", potential=9, text="a"),
            _kept("N1", "N2", potential=8, text="b"),
            _kept("N3", "[i1]", potential=7, text="c"),
            _kept("R1.", potential=6, text="d"),
        ]
    }
    result, _ = _proposed(tmp_path, state, paths, kept)
    assert [idea["id"] for idea in result["ideas"]] == [f"idea-{n:03d}" for n in (1, 2, 3, 4)]
    assert [idea["sources"] for idea in result["ideas"]] == [
        ["ben/forest"],
        ["ben/forest", "idea-000"],
        ["idea-000"],
        ["ben/forest"],
    ]
    assert result["unknown"] == []


def test_no_source_is_guessed(tmp_path: Path) -> None:
    """An idea in the words of a report that names no source has none."""
    words = str(REPORT["summary"])
    result, _ = _proposed(
        tmp_path,
        after_one_round(),
        _paths({"text": words}),
        {"ideas": [_kept("N1", text=words), _kept()]},
    )
    assert [idea["sources"] for idea in result["ideas"]] == [[], []]


@pytest.mark.parametrize("unknown", ["R2", "I2", "N1", "ben/forest", 1])
def test_unknown_sources_are_refused(unknown: object, tmp_path: Path) -> None:
    """A brainstorm with an unknown source is asked for again with the reason; the next one is used."""
    state = after_one_round()
    wrong = _paths({"text": "Grow a forest.", "sources": ["R1", unknown]})
    right = _paths({"text": "Grow trees.", "sources": ["I1"]})
    result, requests = _proposed(tmp_path, state, wrong, right, _SELECTED)
    again = requests[1].messages
    assert again[:2] == requests[0].messages
    assert json.loads(again[2].content) == wrong
    assert f'{unknown}, named by "Grow a forest."' in again[3].content
    assert "The numbers that exist are R1, I1." in again[3].content
    assert requests[2].messages[:2] == requests[0].messages, "what was refused is not shown again"
    assert len(requests[2].messages) == 4
    assert (result["brainstormed"], result["unknown"]) == (["Grow trees."], [])
    assert result["ideas"][0]["sources"] == ["idea-000"]


def test_unknown_sources_of_kept_ideas_are_refused(tmp_path: Path) -> None:
    """A selection with an unknown source is asked for again with the reason; the next one is used."""
    wrong, right = {"ideas": [_kept("N1", "N7")]}, {"ideas": [_kept("R1")]}
    result, requests = _proposed(tmp_path, after_one_round(), _ONE, wrong, right)
    assert 'N7, named by "Deeper trees"' in requests[2].messages[-1].content
    assert "R1, I1, N1" in requests[2].messages[-1].content
    assert result["ideas"][0]["sources"] == ["ben/forest"]


def test_sources_that_stay_unknown_are_dropped_and_told(tmp_path: Path) -> None:
    """Unknown sources of a second reply are left out of the ideas, and the result names them."""
    wrong = _paths({"text": "Grow a forest.", "sources": ["R1", "R9"]})
    kept = {"ideas": [_kept("N1", "N9")]}
    result, requests = _proposed(tmp_path, after_one_round(), wrong, wrong, kept, kept)
    assert len(requests) == 4
    assert json.loads(requests[2].messages[2].content)["paths"][0]["ideas"][0]["sources"] == ["R1"]
    assert result["ideas"][0]["sources"] == ["ben/forest"]
    assert result["unknown"] == ['R9, named by "Grow a forest."', 'N9, named by "Deeper trees"']


@pytest.mark.parametrize("second", [{"paths": []}, {"nothing": 1}], ids=["empty", "invalid"])
def test_the_first_reply_stands_in_for_a_worse_one(second: dict[str, Any], tmp_path: Path) -> None:
    """If the reply to a refusal has no idea, or is invalid three times, the refused one is used."""
    wrong = _paths({"text": "Grow a forest.", "sources": ["R9"]})
    tries = 1 if "paths" in second else 3
    result, _ = _proposed(tmp_path, after_one_round(), wrong, *[second] * tries, _SELECTED)
    assert result["brainstormed"] == ["Grow a forest."]
    assert result["unknown"] == ['R9, named by "Grow a forest."']


def test_labels_that_exist_are_told_as_ranges() -> None:
    """The labels of a prompt are summed up by kind."""
    ideas = [IdeaMemo(id=f"idea-{number:03d}", text="x") for number in range(3)]
    sources = Sources(_ranked({}), ideas)
    sources.with_new([Claim("x", ["I2"]), Claim("y", [])])
    assert sources.known == "R1, I1 to I3, N1 to N2"
    assert sources.of(["N1", "I2", "N2"]) == ("idea-001",)


# --- how ideas are ranked -------------------------------------------------------------------------


@pytest.mark.parametrize("rating", _RATED)
def test_each_rating_ranks_ideas(rating: str, tmp_path: Path) -> None:
    """Of two ideas that differ in one rating the higher one comes first, whatever the reply's order."""
    kept = [_kept("N1", text=f"rated {number}", **{rating: number}) for number in (5, 8)]
    result, _ = _proposed(tmp_path, _reported({}), _ONE, {"ideas": kept})
    first = result["ideas"][0]
    assert (first["id"], first["text"], first[rating]) == ("idea-000", "rated 8", 8)


@pytest.mark.parametrize(
    ("ratings", "value"), [((8, 8, 8), 8), ((0, 10, 10), 2), ((9, 4, 5), 6), ((10, 10, 0), 8)]
)
def test_the_value_of_an_idea_is_computed(
    ratings: tuple[int, int, int], value: int, tmp_path: Path
) -> None:
    """What cannot be done is worth little, however well it agrees with the reports."""
    rated: dict[str, Any] = dict(zip(_RATED, ratings, strict=True))
    result, _ = _proposed(tmp_path, _reported({}), _ONE, {"ideas": [_kept("N1", **rated)]})
    assert result["ideas"][0]["value"] == value


def test_the_best_ideas_are_kept(tmp_path: Path) -> None:
    """When a reply has more ideas than wanted, those of the lowest ratings are left out."""
    kept = [_kept("N1", text=f"{number}", potential=number) for number in range(10)]
    result, _ = _proposed(tmp_path, _reported({}), _ONE, {"ideas": kept})
    assert [idea["text"] for idea in result["ideas"]] == ["9", "8", "7", "6"]


def test_ratings_reach_the_coordinator(tmp_path: Path) -> None:
    """The prompt for drafts has the three ratings of each idea."""
    idea = IDEA | {"value": 6, "feasibility": 9, "potential": 4, "agreement": 5}
    state = state_of(*baseline(), *thought(0, PROPOSE, {"ideas": [idea]}))
    world = World(tmp_path)
    world.model = ScriptedModel([json.dumps({"drafts": []})] * 2)
    agent = agent_for(community=VIEW)
    work = drafting(state, VIEW)
    execute(agent, work, world.folder.work("think-001"), world.dependencies())
    asked = world.model.requests[0].messages[-1].content
    assert "1. Use extra trees. (value 6: potential 4, feasibility 9, agreement 5)" in asked


def test_without_filtering_there_is_one_call(tmp_path: Path) -> None:
    """Without filtering the first new ideas are taken in their order, unrated, with their sources."""
    ideas = [{"text": f"Idea {number}.", "sources": ["R1"] if number else []} for number in range(6)]
    result, requests = _proposed(tmp_path, _reported({}), _paths(*ideas), filtering=False)
    assert len(requests) == 1
    assert [idea["text"] for idea in result["ideas"]] == [f"Idea {number}." for number in range(4)]
    assert [idea["sources"] for idea in result["ideas"]] == [[], *[["ben/forest"]] * 3]
    assert {(idea["value"], idea["potential"]) for idea in result["ideas"]} == {(0, None)}
