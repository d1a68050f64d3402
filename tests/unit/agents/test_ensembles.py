"""Drafts that combine solutions: when they are offered, how they are validated, how they begin."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from comind.agents.comind.thoughts import COORDINATE, PROPOSE
from comind.campaign.log.campaign_events import ErrorsCompared
from comind.campaign.log.work import Code, Compare, Think
from comind.campaign.worker import execute
from comind.domain.draft import Draft, Operator
from comind.llm.templates import Templates
from comind.llm.tokens import count_tokens
from comind.profile.problem_description import describe_problem
from comind.testing import ScriptedModel
from tests.unit.agents.community import VIEW
from tests.unit.agents.graded_cells import run_and_grade, split_of_kind
from tests.unit.agents.rounds import attempt, baseline, drafting, state_of, thought
from tests.unit.agents.samples import FRAME, PROBLEM
from tests.unit.agents.second_round import AGENT, draft_reply, propose, ran_code, second_round
from tests.unit.campaign.samples import code, score
from tests.unit.campaign.world import World

_LARGE, _SMALL = 131_072, 8_192
_TEMPLATES = Templates("comind.agents.comind")
_TABLE = ErrorsCompared(
    attempts=("attempt-002", "attempt-001", "attempt-000"), correlations=((), (0.8,), (0.95, 1.0))
)


# --- the table, and when it is offered -------------------------------------------------------------


def test_errors_are_compared_before_drafts_are_written() -> None:
    """From the second round on the agent requests the comparison of errors once, then drafts with it."""
    assert AGENT.plan(second_round()) == Compare()
    planned = AGENT.plan(second_round(_TABLE))
    assert isinstance(planned, list)
    assert isinstance(planned[0], Think)
    facts = COORDINATE.facts_of(planned[0])
    assert [each.id for each in facts.compared] == list(_TABLE.attempts)
    assert [each.out_of_fold for each in facts.compared] == ["", str(score(0.79)), ""]
    assert facts.alike == 0.95
    for other in (
        second_round(ensemble=False),
        state_of(*baseline(), *thought(0, PROPOSE, {}), ensemble=True),
    ):
        planned = AGENT.plan(other)
        assert isinstance(planned, list)
        assert isinstance(planned[0], Think)
        assert COORDINATE.facts_of(planned[0]).compared == ()


def test_the_coordinator_sees_the_table(tmp_path: Path) -> None:
    """A large model gets the correlations of errors and may combine; a small one does not."""
    _, [large] = propose(tmp_path / "large", second_round(_TABLE), [draft_reply("a")])
    asked = large.messages[-1].content
    assert "| number | solution | scored | out of fold | 1 | 2 | 3 |" in asked
    assert (
        "| 2 | attempt-001: trees | accuracy 0.8 [0.8, 0.8] | accuracy 0.79 [0.79, 0.79] | 0.8 |"
        in asked
    )
    assert "One of them may be an `ensemble`" in asked
    assert "leaves `folds` as it is" in asked
    small = [
        propose(tmp_path / name, state, [draft_reply("a")], context=_SMALL)[1][0].fingerprint()
        for name, state in (("with", second_round(_TABLE)), ("without", second_round(ensemble=False)))
    ]
    assert small[0] == small[1]


def test_where_all_err_alike_nothing_is_offered(tmp_path: Path) -> None:
    """If all correlations are high the table is in the prompt, but no draft may combine solutions."""
    alike = _TABLE.model_copy(update={"correlations": ((), (0.95,), (0.95, 1.0))})
    drafts, [request] = propose(
        tmp_path, second_round(alike), [draft_reply("a", combine=["attempt-001"])]
    )
    assert "How far the errors of solutions go together" in request.messages[-1].content
    assert "`ensemble`" not in request.messages[-1].content
    assert not any(each["members"] for each in drafts["drafts"])


# --- what comes back -------------------------------------------------------------------------------


def test_an_ensemble_mounts_what_it_combines(tmp_path: Path) -> None:
    """Its members are its parents and inputs; it has no codebase and no other kind."""
    members = ["attempt-002", "attempt-001"]
    said = [
        draft_reply("stack", combine=members, start_from="attempt-001", kind="stacking"),
        draft_reply("b"),
        draft_reply("c"),
    ]
    found, _ = propose(tmp_path, second_round(_TABLE), said, said)
    ensemble = next(each for each in found["drafts"] if each["members"])
    assert ensemble["members"] == ensemble["inputs"] == ensemble["sources"] == members
    assert (ensemble["kind"], ensemble["codebase"]) == ("ensemble", "")
    assert sorted(each["kind"] for each in found["drafts"]) == ["ensemble", "novel", "novel"]
    state = second_round(_TABLE, *thought(4, COORDINATE, {"drafts": [ensemble]}))
    planned = AGENT.plan(state)
    assert isinstance(planned, list)
    work = planned[0]
    assert isinstance(work, Code)
    assert work.operator is Operator.ENSEMBLE
    assert work.parents == work.inputs == tuple(members)


@pytest.mark.parametrize(
    ("members", "why"),
    [
        (["attempt-001", "attempt-009"], "attempt-009: no solution of the table of errors"),
        (["attempt-001"], "it combines 1 solutions instead of two to five"),
        (
            ["attempt-001", "attempt-000"],
            "the errors of attempt-001, attempt-000 go together by 1 and more",
        ),
    ],
    ids=["unknown", "one", "alike"],
)
def test_an_ensemble_that_cannot_be_is_asked_for_again(
    members: list[str], why: str, tmp_path: Path
) -> None:
    """It is requested again with the reason once; then the other drafts are used without it."""
    said = [draft_reply("stack", combine=members), draft_reply("b")]
    found, requests = propose(
        tmp_path, second_round(_TABLE), said, [draft_reply("stack", combine=members)]
    )
    assert why in requests[1].messages[-1].content
    assert [each["title"] for each in found["drafts"]] == ["b"]


def test_one_ensemble_a_round_is_enough(tmp_path: Path) -> None:
    """Further ones are refused with the reason; if they come again the first is used without them."""
    members = ["attempt-001", "attempt-002"]
    said = [*(draft_reply(f"stack {number}", combine=members) for number in range(3)), draft_reply("b")]
    found, requests = propose(tmp_path, second_round(_TABLE), said, said)
    told = requests[1].messages[-1].content
    assert '"stack 1": "stack 0" is an ensemble already, and there is one at most; "stack 2": ' in told
    assert [each["title"] for each in found["drafts"]] == ["b", "stack 0"]


@pytest.mark.parametrize("again", ["no list of drafts", '{"drafts": "none"}'])
def test_a_failed_retry_of_drafts_keeps_the_valid_ones(again: str, tmp_path: Path) -> None:
    """If only an ensemble was invalid and the retry fails, the other drafts are used."""
    said = [draft_reply("stack", combine=["attempt-001"]), draft_reply("b")]
    found, requests = propose(tmp_path, second_round(_TABLE), said, *[again] * 9)
    assert len(requests) > 1
    assert [each["title"] for each in found["drafts"]] == ["b"]


def test_what_extends_an_ensemble_finds_its_members() -> None:
    """Inputs named in a solution's code are mounted for drafts that start from it."""
    draft = Draft(title="stack", method="m", members=("attempt-001", "attempt-002"))
    work = code().model_copy(update={"draft": draft, "inputs": (*draft.members, "ada/extra-rows")})
    outcome = ran_code(0.9, "members = ['attempt-001', 'attempt-002']")
    facts = COORDINATE.facts_of(drafting(second_round(_TABLE, *attempt(3, work, outcome)), VIEW))
    assert facts.solutions[0].inputs == draft.members
    assert facts.solutions[1].inputs == ()


# --- what an attempt begins with -------------------------------------------------------------------


def _opened(root: Path, context: int, **draft: Any) -> tuple[str, list[str]]:
    frame = _TEMPLATES.render("coding_frame", problem=PROBLEM, folds=True)
    stack = _TEMPLATES.render("coding_stack", problem=PROBLEM, members=draft.get("members", ()))
    world = World(root, cells={frame: lambda _: "", FRAME: lambda _: "", stack: lambda _: "shares: 1.0"})
    said = {"goal": "g", "code": "good", "summary": "Done."}
    world.model = ScriptedModel(lambda _request: json.dumps(said), context_tokens=context)
    plain = code(steps=4)
    changed = plain.draft.model_copy(update=draft)
    work = plain.model_copy(update={"draft": changed, "inputs": changed.members})
    execute(AGENT, work, world.folder.work("attempt-003"), world.dependencies())
    return world.model.requests[0].messages[-1].content, world.ran


def test_shared_folds_are_told_where_there_is_room(tmp_path: Path) -> None:
    """The frame reads the folds for every model; the prompt of a small one omits them."""
    large, ran = _opened(tmp_path / "large", _LARGE)
    assert 'folds = pd.read_csv("input/folds/folds.csv")["fold"]' in large
    assert "Cross-validate by it" in large
    small, also = _opened(tmp_path / "small", _SMALL)
    assert ran == also
    assert "folds" not in small


@pytest.mark.parametrize("context", [_SMALL, _LARGE])
def test_an_ensemble_begins_with_the_predictions_of_its_members(context: int, tmp_path: Path) -> None:
    """A cell of ours reads them; the prompt has its output and explains stacking."""
    asked, ran = _opened(tmp_path, context, members=("attempt-001", "attempt-002"))
    assert "Cross-validate by it" in asked
    assert "members = ['attempt-001', 'attempt-002']" in ran[1]
    assert "It printed:\nshares: 1.0" in asked
    assert "A stack in short" in asked
    assert "- input/solutions/attempt-002/: a solution" in asked


@pytest.mark.parametrize(
    "kind", ["labels", "ids of two columns", "other ids in train", "targets of two columns"]
)
def test_predictions_of_members_stand_beside_the_rows(kind: str, tmp_path: Path) -> None:
    """For any ids, each row gets each member's prediction, and NaN without one."""
    split = split_of_kind(tmp_path, kind)
    problem = describe_problem(split, count_tokens)
    ids, train_ids, targets = (
        list(each) for each in (problem.id_columns, problem.train_id_columns, problem.target_columns)
    )
    tables = {
        name: pd.read_csv(split.public / f"{name}.csv") for name in ("train", "validation", "test")
    }
    solutions = tmp_path / "workspace" / "input" / "solutions"
    train = tables["train"]
    for member, shown in (("attempt-001", train.iloc[::-1][:-3]), ("attempt-002", None)):
        (solutions / member).mkdir(parents=True)
        for name, file in (("validation", "validation_submission.csv"), ("test", "submission.csv")):
            rows = tables[name][ids].iloc[::-1]
            rows.assign(**dict.fromkeys(targets, member)).to_csv(solutions / member / file, index=False)
        if shown is not None:
            given = shown[[*train_ids, *targets]]
            given.to_csv(solutions / member / "out_of_fold.csv", index=False)
    cells = [
        _TEMPLATES.render("coding_frame", problem=problem, folds=True),
        _TEMPLATES.render("coding_stack", problem=problem, members=("attempt-001", "attempt-002")),
        *(f"stack_{name}.to_pickle('{name}.pickle')" for name in tables),
        "some = lambda table: train.loc[[0] * len(table), [" + ", ".join(map(repr, targets)) + "]]\n"
        "submit(some(validation), some(test), some(train))",
    ]
    run_and_grade(split, tmp_path, cells)
    found = {name: pd.read_pickle(tmp_path / "workspace" / f"{name}.pickle") for name in tables}
    for name in ("validation", "test"):
        assert len(found[name]) == len(tables[name])
        assert (found[name] == [m for m in ("attempt-001", "attempt-002") for _ in targets]).all().all()
    first = found["train"][[f"attempt-001 {target}" for target in targets]].to_numpy()
    assert (first[3:] == train[targets].to_numpy()[3:]).all()
    assert pd.isna(first[:3]).all()
    second = found["train"][[f"attempt-002 {target}" for target in targets]]
    assert second.isna().all().all()
    assert np.array_equal(found["train"].index, train.index)


def test_probabilities_of_members_stand_in_place_of_labels(tmp_path: Path) -> None:
    """A member with probabilities has a column for each class, in all three tables."""
    split = split_of_kind(tmp_path, "labels")
    problem = describe_problem(split, count_tokens)
    solutions = tmp_path / "workspace" / "input" / "solutions"
    parts = {"train": "out_of_fold", "validation": "validation", "test": "test"}
    names = {"train": "out_of_fold", "validation": "validation_submission", "test": "submission"}
    for part, soft_name in parts.items():
        ids = pd.read_csv(split.public / f"{part}.csv")[["id"]]
        for member in ("attempt-001", "attempt-002"):
            (solutions / member).mkdir(parents=True, exist_ok=True)
            ids.assign(label="yes").to_csv(solutions / member / f"{names[part]}.csv", index=False)
        soft = ids.assign(no=0.25, yes=0.75)
        soft.to_csv(solutions / "attempt-002" / f"{soft_name}_probabilities.csv", index=False)
    members = ("attempt-001", "attempt-002")
    cells = [
        _TEMPLATES.render("coding_frame", problem=problem, folds=True),
        _TEMPLATES.render("coding_stack", problem=problem, members=members),
        *(f"stack_{name}.to_pickle('{name}.pickle')" for name in parts),
        "submit(['no'] * len(validation), ['no'] * len(test))",
    ]
    run_and_grade(split, tmp_path, cells)
    for name in parts:
        found = pd.read_pickle(tmp_path / "workspace" / f"{name}.pickle")
        assert list(found) == ["attempt-001 label", "attempt-002 no", "attempt-002 yes"]
        assert (found["attempt-002 yes"] == 0.75).all()
