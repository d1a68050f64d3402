"""Kinds of drafts hold by content, and duplicates are refused."""

from pathlib import Path
from typing import Any

import pytest

from comind.agents.comind.draft_kinds import check_kinds, duplicate_of, wrong_kind
from comind.agents.comind.thoughts import ANALYZE, COORDINATE, OPEN, PROPOSE, Asked, Drafting, Earlier
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CellSummary, CodeOutcome
from comind.campaign.worker import execute
from comind.domain.draft import Draft
from tests.unit.agents.community import VIEW
from tests.unit.agents.rounds import (
    IDEA,
    REPORT,
    attempt,
    baseline,
    drafting,
    state_of,
    thought,
)
from tests.unit.agents.samples import agent_for
from tests.unit.agents.second_round import draft_reply, propose
from tests.unit.campaign.samples import code, scored
from tests.unit.campaign.world import World

_TREES = (
    "Gradient boosting with small trees on hours, weather and lags, early stopping on the last fold."
)
_TREES_AGAIN = (
    "Gradient boosting with small trees on hours, weather and lags; early stopping on last folds."
)
_NET = "A recurrent net reads two weeks of each station as a sequence and predicts all targets at once."
_KERNEL = "A Gaussian process with a periodic kernel is fitted to the residuals of a seasonal mean."

_FACTS = Drafting(
    wanted=3,
    asked=(Asked(name="baseline"), Asked(name="novel"), Asked(name="extend")),
    lineage=("attempt-002", "ben/forest"),
    baseline="attempt-000",
    earlier=(Earlier(id="attempt-002", method=_TREES),),
    feasibility={"idea-000": 5, "idea-001": 6},
)


def _draft(kind: str, method: str = _KERNEL, start: str = "", *sources: str) -> Draft:
    base = {"codebase": "x = 1", "inputs": (start,)} if start else {}
    came = (*sources, *([start] if start else []))
    return Draft.model_validate(
        {"title": f"{kind} {method[:9]}", "method": method, "kind": kind, "sources": came, **base}
    )


@pytest.mark.parametrize(
    ("draft", "why"),
    [
        (_draft("baseline"), ""),
        (_draft("baseline", _KERNEL, "attempt-000"), ""),
        (_draft("baseline", _KERNEL, "attempt-001"), "it starts from attempt-001"),
        (_draft("baseline", _KERNEL, "", "idea-001"), ""),
        (_draft("baseline", _KERNEL, "", "idea-000"), "it uses idea-000, of feasibility 5, less than 6"),
        (_draft("novel"), ""),
        (_draft("novel", _KERNEL, "attempt-001"), ""),
        (_draft("novel", _KERNEL, "attempt-002"), "it starts from attempt-002, which the best solution"),
        (_draft("novel", _TREES_AGAIN), "its method is nearly that of attempt-002"),
        (_draft("novel", _NET), 'its method is nearly that of "other"'),
        (_draft("extend", _KERNEL, "attempt-001"), ""),
        (_draft("extend"), "it starts from nothing that it could extend"),
        (_draft("stacking"), "there is no kind stacking"),
    ],
)
def test_a_kind_is_checked_by_content(draft: Draft, why: str) -> None:
    """Start, feasibility of what is used and distance to other methods decide, not the label."""
    others = [Draft(title="other", method=_NET)]
    found = wrong_kind(draft, others, _FACTS)
    assert found.startswith(why)
    assert bool(found) == bool(why)


def test_no_draft_is_named_after_a_kind_that_it_is_not() -> None:
    """A wrong label is taken away; the kinds that are missing are named, with the reason."""
    drafts = [_draft("novel", _TREES_AGAIN), _draft("novel", _NET, "attempt-002"), _draft("extend")]
    found, missing, reasons = check_kinds(drafts, _FACTS)
    assert sorted(each.strategy for each in found) == ["extend", "other", "other"]
    assert [str(each) for each in missing] == ["baseline", "novel"]
    assert reasons == [
        "no draft is the baseline (none says so)",
        'no draft is the novel ("novel Gradient " is none: its method is nearly that of attempt-002)',
    ]


def test_drafts_of_the_kinds_that_count_are_kept() -> None:
    """Of more drafts than wanted those are kept that the round asks for; a lone one is free."""
    drafts = [_draft("extend", _TREES, "attempt-001"), _draft("novel", _NET), _draft("baseline")]
    found, missing, _ = check_kinds(drafts, _FACTS.model_copy(update={"wanted": 2}))
    assert [each.strategy for each in found] == ["novel", "baseline"]
    assert not missing
    assert check_kinds(drafts[:1], _FACTS)[1] == []


def test_of_several_drafts_of_a_kind_one_leaves_room_for_the_others() -> None:
    """Two baselines do not push the only novel draft out."""
    other = _draft("baseline", _TREES)
    drafts = [_draft("baseline"), other, _draft("novel", _NET)]
    found, missing, _ = check_kinds(drafts, _FACTS.model_copy(update={"wanted": 2}))
    assert [each.strategy for each in found] == ["baseline", "novel"]
    assert not missing


def test_an_extension_has_to_start_from_what_is_asked_for() -> None:
    """Where a round asks for extensions of particular solutions, another start does not count."""
    asked = tuple(Asked(name="extend", start=start) for start in ("attempt-001", "attempt-002"))
    facts = _FACTS.model_copy(update={"asked": asked})
    drafts = [_draft("extend", _NET, "attempt-001"), _draft("extend", _KERNEL, "attempt-001")]
    _, missing, _ = check_kinds(drafts, facts)
    assert [str(each) for each in missing] == ["extend of attempt-002"]


@pytest.mark.parametrize(
    ("draft", "same"),
    [
        (_draft("novel", _TREES_AGAIN), "attempt-002"),
        (_draft("novel", _NET), ""),
        (_draft("extend", _TREES, "attempt-002"), ""),
        (_draft("novel", "Boosting."), ""),
    ],
    ids=["same words", "others", "another start", "too short to say"],
)
def test_a_method_that_was_tried_is_a_duplicate(draft: Draft, same: str) -> None:
    """It has nearly the words of an earlier one with the same start, unless that one had no score."""
    assert duplicate_of(draft, _FACTS.earlier) == same
    failed = [each.model_copy(update={"scored": False}) for each in _FACTS.earlier]
    assert duplicate_of(draft, failed) == ""


# --- in a round ------------------------------------------------------------------------------------


def _state(**spec: Any) -> CampaignState:
    """Return a campaign with a scored attempt by trees, whose first third is not over."""
    tried = code().model_copy(update={"draft": Draft(title="trees", method=_TREES)})
    best = scored(0.8).model_copy(update={"code": "trees = 1"})
    ideas = [IDEA, IDEA | {"id": "idea-001", "text": "Fly to the moon.", "sources": ["ada/x"]}]
    return state_of(
        *baseline(),
        *thought(0, ANALYZE, {"reports": [REPORT, REPORT | {"item": "ada/x", "feasibility": 2}]}),
        *attempt(1, tried, best),
        *thought(1, PROPOSE, {"ideas": ideas}),
        **{"iterations": None, "coders": 2, **spec},
    )


def test_a_round_without_a_kind_is_asked_for_once_more(tmp_path: Path) -> None:
    """The reason is told; the second list is used if it lacks less."""
    wrong = [draft_reply("a", method=_NET, ideas=[2]), draft_reply("b", method=_TREES_AGAIN)]
    right = [draft_reply("c", kind="baseline", method=_KERNEL), draft_reply("d", method=_NET)]
    found, requests = propose(tmp_path, _state(), wrong, right)
    assert len(requests) == 2
    told = requests[1].messages[-1].content
    assert "no draft is the baseline (none says so)" in told
    assert '"b" is nearly the method of "trees"' in told
    assert [(each["title"], each["kind"]) for each in found["drafts"]] == [
        ("c", "baseline"),
        ("d", "novel"),
    ]
    assert found["missing"] == []


def test_what_is_missing_twice_is_said(tmp_path: Path) -> None:
    """After the second list there is no third: what there is is used, and the result names the kind."""
    risky = draft_reply("a", kind="baseline", method=_KERNEL, ideas=[2])
    found, requests = propose(
        tmp_path, _state(), [risky, draft_reply("b", method=_NET)], [draft_reply("c"), risky]
    )
    assert len(requests) == 2
    assert "it uses idea 2, of feasibility 2, less than 6" in requests[1].messages[-1].content
    assert found["missing"] == ["baseline"]
    assert sorted(each["kind"] for each in found["drafts"]) == ["novel", "other"]


def test_duplicates_by_method_are_refused_with_the_reason(tmp_path: Path) -> None:
    """A new title does not make a new draft."""
    again = [draft_reply("fresh", method=_TREES_AGAIN)]
    found, requests = propose(tmp_path, _state(), again, again)
    assert '"fresh" is nearly the method of "trees"' in requests[1].messages[-1].content
    assert (found["drafts"], found["refused"]) == ([], '"fresh" is nearly the method of "trees"')


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("baseline", "It is the baseline of its round"),
        ("extend", "It extends what it starts from"),
        ("novel", "It is the novel draft of its round"),
        ("ensemble", "It is an ensemble"),
        ("other", ""),
    ],
)
def test_the_coder_is_told_the_kind(kind: str, said: str, tmp_path: Path) -> None:
    """What is expected of the draft stands below its method; a draft of no kind has no such line."""
    world = World(tmp_path)
    work = code().model_copy(update={"draft": _draft(kind)})
    execute(agent_for(), work, world.folder.work("attempt-001"), world.dependencies())
    asked = world.model.requests[0].messages[-1].content
    lines = [line for line in asked.splitlines() if line.startswith(("It is the", "It is an", "It ext"))]
    assert [line.startswith(said) for line in lines] == [True] * bool(said)


# --- the platform's baseline in prompts ------------------------------------------------------------


def _generic(report: str) -> CodeOutcome:
    cells = (
        CellSummary(step=1, goal="Run the recipe for tables.", result="accuracy 0.7", output="boosting"),
    )
    program = "\n".join(f"def generic_{number}(table): return table" for number in range(200))
    return scored(0.7).model_copy(update={"code": program, "report": report, "cells": cells})


def test_the_generic_code_of_the_baseline_is_in_no_prompt_for_drafts(tmp_path: Path) -> None:
    """What ran is there in a few lines; a draft that starts from it has the program all the same."""
    events = [*baseline(_generic("The baseline: the recipe for tables.")), *thought(0, OPEN, {})]
    state = state_of(*events, iterations=None, coders=1)
    reply = draft_reply("a", kind="baseline", start_from="attempt-000")
    found, [request] = propose(tmp_path, state, [reply])
    asked = request.messages[-1].content
    assert "# The best solution, attempt-000: the platform's baseline" in asked
    for line in ("The baseline: the recipe for tables.", "- Run the recipe for tables. (accuracy 0.7)"):
        assert line in asked
    assert "generic_7" not in asked
    assert "generic_7" in found["drafts"][0]["codebase"]
    assert (found["drafts"][0]["kind"], found["missing"]) == ("baseline", [])


def test_a_short_program_of_the_platform_is_shown(tmp_path: Path) -> None:
    """What is not generic, such as the program that a problem comes with, stands in the prompt."""
    short = _generic("The baseline.").model_copy(update={"code": "def short(table): return table"})
    state = state_of(*baseline(short), *thought(0, OPEN, {}), iterations=None, coders=1)
    _, [request] = propose(tmp_path, state, [draft_reply("a")])
    assert "def short(table)" in request.messages[-1].content


def test_code_of_other_solutions_is_shown(tmp_path: Path) -> None:
    """The program of an attempt is its own, and stands in the prompt if it is the best."""
    _, [request] = propose(tmp_path, _state(coders=1), [draft_reply("a")])
    assert "# The best solution's code, attempt-001" in request.messages[-1].content
    assert COORDINATE.facts_of(drafting(_state(), VIEW)).solutions[0].ran == ""
