"""The CoMind agent: what it plans, its prompts, and what it does with replies."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.agents.comind.analyzer import reading_facts
from comind.agents.comind.parameters import CoMindParameters
from comind.agents.comind.pool import pool_of
from comind.agents.comind.thoughts import ANALYZE, COORDINATE, PROPOSE, Drafting, Proposing, Reading
from comind.campaign.log.campaign_events import CampaignEvent, CommunityRead, WorkFinished, WorkPlanned
from comind.campaign.log.campaign_state import CAMPAIGN_LOG, CampaignState
from comind.campaign.log.outcome import CodeOutcome, Failure, FailureCause, ThinkOutcome
from comind.campaign.log.work import BASELINE_ROLE, Code, Done, Think, Wait
from comind.campaign.work.hand_in import FilesHandedIn, HandIn
from comind.campaign.worker import execute
from comind.domain.community import CommunityView
from comind.domain.draft import Draft, Operator
from comind.domain.value import Payload
from comind.llm.model_ports import ModelReply
from comind.llm.tokens import count_tokens
from comind.testing import ScriptedModel
from tests.examples import examples
from tests.unit.agents.community import VIEW
from tests.unit.agents.rounds import after_one_round, attempt, baseline, state_of
from tests.unit.agents.samples import AGENT, FRAME, PROBLEM, SUBMIT, agent_for
from tests.unit.campaign.samples import code, failed, opened, records, scored
from tests.unit.campaign.world import World, hand_in


def _state(*events: CampaignEvent, **spec: Any) -> CampaignState:
    state = CampaignState()
    for record in records(opened(**spec), *events):
        state = CAMPAIGN_LOG.apply(state, record)
    return state


def _drafts(*titles: str, codebase: str = "") -> ThinkOutcome:
    sources = ("attempt-000",) if codebase else ()
    drafts = [
        Draft(title=t, method="somehow", codebase=codebase, sources=sources).model_dump(mode="json")
        for t in titles
    ]
    return ThinkOutcome(result=Payload({"drafts": drafts}))


def _baseline(outcome: CodeOutcome) -> list[CampaignEvent]:
    work = code().model_copy(update={"role": BASELINE_ROLE})
    return [
        WorkPlanned(id="attempt-000", work=work),
        WorkFinished(id="attempt-000", outcome=outcome),
    ]


_IDEATE = COORDINATE.work(Drafting(finished=1))


def test_drafts_fill_the_free_slots() -> None:
    """Each draft is planned once, as slots become free."""
    thought = [
        *_baseline(scored(0.7)),
        WorkPlanned(id="think-000", work=_IDEATE),
        WorkFinished(id="think-000", outcome=_drafts("a", "b", "c")),
    ]
    planned = AGENT.plan(_state(*thought))
    assert isinstance(planned, list)
    assert [work.draft.title for work in planned if isinstance(work, Code)] == ["a", "b"]
    out = [WorkPlanned(id=f"attempt-{n:03d}", work=w) for n, w in enumerate(planned, start=1)]
    assert AGENT.plan(_state(*thought, *out)) == Wait()
    back = WorkFinished(id="attempt-001", outcome=failed())
    third = AGENT.plan(_state(*thought, *out, back))
    assert isinstance(third, list)
    assert [work.draft.title for work in third if isinstance(work, Code)] == ["c"]


@pytest.mark.parametrize(("memory", "known"), [(True, ["idea-000"]), (False, [])])
def test_ideas_of_earlier_rounds_are_shown_with_a_memory_alone(memory: bool, known: list[str]) -> None:
    """Without a memory no earlier idea is in the facts of a round; new ideas are numbered on."""
    agent = agent_for(
        parameters=CoMindParameters(idea_memory=memory, solutions_per_round=0, one_call_minutes=0)
    )
    planned = agent.plan(after_one_round(iterations=None))
    assert isinstance(planned, list)
    facts = PROPOSE.facts_of(planned[0]) if isinstance(planned[0], Think) else Proposing()
    assert [idea.id for idea in facts.ideas] == known
    assert facts.known == 1


def test_a_draft_that_starts_from_the_best_names_its_parent() -> None:
    """A draft with a codebase is an improvement of the best attempt, one without is a fresh draft."""
    for codebase, operator, parents in (
        ("x = 1", Operator.IMPROVE, ("attempt-000",)),
        ("", Operator.DRAFT, ()),
    ):
        planned = AGENT.plan(
            _state(
                *_baseline(scored(0.7)),
                WorkPlanned(id="think-000", work=_IDEATE),
                WorkFinished(id="think-000", outcome=_drafts("a", codebase=codebase)),
            )
        )
        assert isinstance(planned, list)
        assert isinstance(planned[0], Code)
        assert (planned[0].operator, planned[0].parents) == (operator, parents)


_CUT_OFF = ThinkOutcome(failure=Failure(cause=FailureCause.REPLY, message="it was cut off"))
_ALL_TRIED = ThinkOutcome(result=Payload({"drafts": [], "refused": 'all were tried before: "a"'}))


def _rounds(*outcomes: ThinkOutcome) -> list[CampaignEvent]:
    """Return consecutive rounds of drafting with these outcomes."""
    return [
        event
        for number, outcome in enumerate(outcomes)
        for event in (
            WorkPlanned(id=f"think-{number:03d}", work=_IDEATE),
            WorkFinished(id=f"think-{number:03d}", outcome=outcome),
        )
    ]


@pytest.mark.parametrize("spec", [{}, {"iterations": 1}], ids=["by time", "one round"])
def test_rounds_without_a_draft_are_followed_by_others(spec: dict[str, Any]) -> None:
    """Truncated replies and duplicates do not end a campaign; the next round gets the reason."""
    rounds = _rounds(_CUT_OFF, _CUT_OFF, _CUT_OFF, _ALL_TRIED)
    agent = agent_for()
    read = WorkPlanned(id="think-004", work=ANALYZE.work(Reading()))
    done = WorkFinished(id="think-004", outcome=ThinkOutcome(result=Payload({"reports": []})))
    planned = agent.plan(_state(*_baseline(scored(0.7)), *rounds, read, done, **spec))
    assert isinstance(planned, list)
    assert isinstance(planned[0], Think)
    assert planned[0].purpose == PROPOSE.name
    assert PROPOSE.facts_of(planned[0]).refused == 'all were tried before: "a"'


def test_a_stage_that_failed_does_not_end_its_round() -> None:
    """If brainstorming fails, drafts are made from remembered ideas."""
    failed_ideas = [
        WorkPlanned(id="think-000", work=PROPOSE.work(Proposing())),
        WorkFinished(id="think-000", outcome=_CUT_OFF),
    ]
    planned = AGENT.plan(_state(*_baseline(scored(0.7)), *failed_ideas))
    assert isinstance(planned, list)
    assert isinstance(planned[0], Think)
    assert planned[0].purpose == COORDINATE.name


@pytest.mark.parametrize(
    ("outcomes", "spec", "reason"),
    [
        (
            [_drafts("a")] + [_CUT_OFF] * 6,
            {},
            "6 rounds in a row brought no draft, the last: it was cut off",
        ),
        ([_ALL_TRIED, _drafts()], {"iterations": 0}, "all 0 rounds of ideation are over"),
    ],
)
def test_it_ends_when_ideas_do(outcomes: list[ThinkOutcome], spec: dict[str, Any], reason: str) -> None:
    """After too many rounds without a draft, or after the last round, the agent is done."""
    work = code().model_copy(update={"draft": Draft(title="a", method="somehow")})
    tried = [
        WorkPlanned(id="attempt-001", work=work),
        WorkFinished(id="attempt-001", outcome=failed()),
    ]
    state = _state(*_baseline(scored(0.7)), *_rounds(*outcomes), *tried, **spec)
    assert AGENT.plan(state) == Done(reason=reason)


def test_a_community_that_was_read_again_begins_another_round() -> None:
    """When the community is re-read, rounds continue even if they were over or without drafts."""
    over = [
        CommunityRead(
            key="c-1", sha256="1", as_of=None, notebooks=1, discussions=0, datasets=0, left_out=0
        ),
        *_baseline(scored(0.7)),
        *_rounds(*[_drafts()] * 6),
    ]
    again = CommunityRead(
        key="c-2", sha256="2", as_of=None, notebooks=2, discussions=0, datasets=0, left_out=0
    )
    agent = agent_for(community=VIEW)
    for spec in ({}, {"iterations": 1}):
        read = agent.plan(_state(*over, **spec))
        assert isinstance(read, Done), "what there was to read is no reason to go on"
        planned = agent.plan(_state(*over, again, **spec))
        assert isinstance(planned, list)
        assert isinstance(planned[0], Think)
        assert planned[0].purpose == ANALYZE.name


def _coding(
    script: list[dict[str, Any]],
    root: Path,
    *,
    steps: int = 5,
    cells: dict[str, object] | None = None,
    beside: HandIn | None = None,
    **draft: Any,
) -> tuple[CodeOutcome, World]:
    ran_before: dict[str, object] = {name: lambda workspace: "" for name in (FRAME, SUBMIT)}
    world = World(root, cells=ran_before | (cells or {}), hand_in=beside or FilesHandedIn())
    steps_said = [_STEP | reply for reply in script]
    done = [reply for reply in steps_said if reply["code"] in ("", "#", "# done")]
    replies = [*steps_said, *done[-1:] * 2, {"summary": "Reported."}]  # it insists that it is done
    world.model = ScriptedModel([json.dumps(reply) for reply in replies])
    work = code(steps=steps)
    work = work.model_copy(update={"draft": work.draft.model_copy(update=draft)})
    outcome = execute(AGENT, work, world.folder.work("attempt-000"), world.dependencies())
    assert isinstance(outcome, CodeOutcome)
    return outcome, world


_STEP = {"goal": "g", "code": ""}


@pytest.mark.parametrize(("usual", "asked"), [(50.0, 2), (2_000.0, 1)])
def test_no_step_is_asked_for_when_its_reply_would_be_late(
    tmp_path: Path, usual: float, asked: int
) -> None:
    """With less than half of what the attempt's replies took on average left, it ends."""
    world = World(tmp_path, cells={name: lambda workspace: "" for name in (FRAME, SUBMIT)})
    reply = ModelReply(text=json.dumps(_STEP | {"code": "look"}), model="scripted", seconds=usual)
    world.model = ScriptedModel(lambda _request: reply)
    work = code(steps=3)  # in 600 s; the first is the frame
    execute(AGENT, work, world.folder.work("attempt-000"), world.dependencies())
    assert len(world.model.requests) == asked


def test_a_draft_becomes_a_scored_solution(tmp_path: Path) -> None:
    """The Coding Agent looks at the data, submits, sees its score and says that it is done."""
    outcome, world = _coding([{"code": "look"}, {"code": "good"}, {"goal": "All done."}], tmp_path)
    assert outcome.score is not None
    assert outcome.score.value.value == 0.9
    assert outcome.report == "Reported."
    assert outcome.code == f"{FRAME}\n\nlook\n\ngood"
    feedback = [request.messages[-1].content for request in world.model.requests]
    assert "two columns" in feedback[1]
    assert "Nothing is scored yet." in feedback[1]
    assert "Scored: written 0.9 [0.9, 0.9]" in feedback[2]


def test_a_solution_is_read_by_its_own_cells(tmp_path: Path) -> None:
    """The Analyzer gets the cells that scored best, the newest first, with their output."""
    replies = [{"goal": g, "code": g} for g in ("look", "better", "unknown", "poor")]
    outcome, _ = _coding([*replies, {"code": "# done"}], tmp_path, steps=6, **_MEASURED)
    assert outcome.score is not None
    draft = Draft(title="t", method="the plan", codebase="good", sources=("attempt-000",))
    work = code().model_copy(update={"draft": draft, "parents": ("attempt-000",)})
    state = state_of(*baseline(), *attempt(1, work, outcome))
    parameters = CoMindParameters(readers=1)
    parts = reading_facts(state, pool_of(state), CommunityView(), parameters)
    text = parts[0].solutions[0].text
    assert "It starts from attempt-000 and adds to it." in text
    order = ["# Step 4: better (written 0.95", "# Step 3: look (ran in", "two columns"]
    order += ["What else was tried", "- Step 5, which failed: unknown (NameError"]
    order += ["- Step 6: poor (written"]
    order += ["perhaps otherwise done:\nthe plan"]
    places = [text.index(each) for each in order]
    assert places == sorted(places)
    assert "good" not in text, "the program that it starts from is not repeated"
    assert "def submit" not in text, "nor is what every notebook begins with"


def test_done_without_a_score_is_not_done(tmp_path: Path) -> None:
    """A model that stops before anything is scored is asked to continue, at most twice."""
    outcome, world = _coding([{"code": "# done"}] * 3, tmp_path)
    assert outcome.score is None
    assert len(world.model.requests) == 3
    assert "The cell has no code" in world.model.requests[1].messages[-1].content


def test_failures_are_fed_back(tmp_path: Path) -> None:
    """Feedback has an error, missing files and a refused submission."""
    outcome, world = _coding(
        [
            {"code": "unknown"},
            {"code": "look", "validation_submission": "v.csv", "submission": "s.csv"},
            {"code": "words"},
            {"code": "good"},
            {"code": "# done"},
        ],
        tmp_path,
    )
    assert outcome.score is not None
    feedback = [request.messages[-1].content for request in world.model.requests]
    assert "NameError: no cell named 'unknown'" in feedback[1]
    assert "Not scored: v.csv: there is no such file" in feedback[2]
    assert "Not scored: validation_submission.csv is not a number" in feedback[3]


def test_steps_are_a_hard_limit(tmp_path: Path) -> None:
    """No more cells run than the budget has steps."""
    outcome, world = _coding([{"code": "look"}] * 9, tmp_path, steps=3)
    assert outcome.steps == 3
    assert world.ran == [FRAME, "look", "look"]


_MEASURED = {"codebase": "good", "codebase_seconds": 3.0, "codebase_result": "accuracy 0.9 [0.8, 1.0]"}


def test_what_a_draft_starts_from_is_run_for_the_model(tmp_path: Path) -> None:
    """Its program runs as the first cell and is not scored again; later cells build on it."""
    outcome, world = _coding([{"code": "better"}, {"code": "# done"}], tmp_path, **_MEASURED)
    assert world.ran == ["good", SUBMIT, "better"]
    assert outcome.code == f"good\n\n{SUBMIT}\n\nbetter"
    task = world.model.requests[0].messages[-1].content
    assert "Your notebook begins with the program below." in task
    assert "It scored accuracy 0.9 [0.8, 1.0]. Your goal is a better score." in task
    assert "`submit(for_validation, for_test, out_of_fold=None, final=False)`, defined as well" in task
    assert "You have 3 steps" in task


@pytest.mark.parametrize(
    ("codebase", "told"),
    [
        (FRAME, True),
        ("def submit(table):\n    table.to_csv('submission.csv')", False),
        ("submit = print", False),
    ],
    ids=["ours", "a function of its own", "a name of its own"],
)
def test_a_function_that_hands_in_is_not_defined_over_another(
    codebase: str, told: bool, tmp_path: Path
) -> None:
    """A program with a `submit` keeps it; ours is described in the prompt."""
    draft = _MEASURED | {"codebase": codebase}
    cells: dict[str, object] = {codebase: lambda workspace: ""}
    _, world = _coding([{"code": "better"}, {"code": "# done"}], tmp_path, cells=cells, **draft)
    assert world.ran == [codebase, "better"]
    assert ("defined as well" in world.model.requests[0].messages[-1].content) == told


def test_what_a_step_handed_in_beside_its_pair_is_fed_back(tmp_path: Path) -> None:
    """Feedback has out-of-fold scores, faults in them, and the nomination after the score."""
    cells = {
        "first": hand_in("0.9", out_of_fold="0.8", final=True),
        "worse": hand_in("0.5", out_of_fold="words", final=True),
        "tied": hand_in("0.9", out_of_fold="0.85"),
    }
    script = [{"code": name} for name in (*cells, "# done")]
    outcome, world = _coding(script, tmp_path, cells=cells)
    told = [request.messages[-1].content for request in world.model.requests]
    assert "Your out-of-fold predictions score written 0.8 [0.8, 0.8] over 1 rows" in told[1]
    assert "Nominated: written 0.9 [0.9, 0.9]." in told[1]
    assert "Your out-of-fold predictions are not scored: out_of_fold.csv is not a number." in told[2]
    assert "Your nomination does not count: on validation it is worse than the best" in told[2]
    assert "nomination" not in told[3]
    assert outcome.submitted is not None
    assert outcome.submitted.step == 2


def test_what_is_wrong_with_files_beside_a_pair_is_fed_back(tmp_path: Path) -> None:
    """Feedback says why probabilities cannot be blended, and which files could not be read."""

    def writes_folder(workspace: Path) -> str:
        (workspace / "out_of_fold.csv").mkdir()
        return str(hand_in("0.9", probabilities="0.4")(workspace))  # type: ignore[operator]

    cells = {"empty": hand_in("0.9", probabilities=""), "folder": writes_folder}
    script = [{"code": name} for name in (*cells, "# done")]
    beside = FilesHandedIn(probabilities=True)
    _, world = _coding(script, tmp_path, cells=cells, beside=beside)
    told = [request.messages[-1].content for request in world.model.requests]
    wrong = "Your probabilities cannot be blended: validation_probabilities.csv is empty."
    assert wrong in told[1]
    assert "Not read" not in told[1]
    assert "Not read: out_of_fold.csv: not a plain file" in told[2]
    assert "Your probabilities" not in told[2]
    assert "Scored: written 0.9" in told[2]


def test_what_was_not_bettered_is_no_result(tmp_path: Path) -> None:
    """An attempt that does not improve on the program it starts from has no score of its own."""
    outcome, _ = _coding([{"code": "# done"}] * 3, tmp_path, **_MEASURED)
    assert outcome.score is None
    assert outcome.failure is not None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"codebase_seconds": 1e6}, "It has not run in your notebook"),
        ({"codebase": "unknown"}, "It has not run in your notebook"),
        ({"codebase_seconds": None}, "It has not been run here, and its paths"),
    ],
    ids=["too slow", "fails", "never run"],
)
def test_what_does_not_run_is_only_shown(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    """A program that takes too long, fails here or has not run is labelled so in the prompt."""
    outcome, world = _coding([{"code": "good"}, {"code": "#"}], tmp_path, **_MEASURED | change)
    assert said in world.model.requests[0].messages[-1].content
    assert outcome.code == f"{FRAME}\n\ngood"


def test_the_same_error_again_is_said(tmp_path: Path) -> None:
    """After the same error twice in a row, feedback suggests another approach."""
    _, world = _coding([{"code": "unknown"}] * 3, tmp_path, steps=4)
    feedback = [request.messages[-1].content for request in world.model.requests]
    assert "Use another approach." not in feedback[1]
    assert "Use another approach." in feedback[2]


def test_a_conversation_grows_at_its_end_alone(tmp_path: Path) -> None:
    """Every request has the previous one as its prefix, also the one for the report."""
    _, world = _coding([{"code": "look"}, {"code": "good"}] * 4, tmp_path, steps=8)
    conversations = [request.messages for request in world.model.requests]
    assert len(conversations) == 9
    for before, after in pairwise(conversations):
        assert after[: len(before)] == before


@given(st.text(min_size=1), st.integers(min_value=1, max_value=50_000))
@examples(25)
def test_its_prompts_stay_under_their_size(
    tmp_path_factory: pytest.TempPathFactory, text: str, times: int
) -> None:
    """A request has a maximum size for any description, draft, program and output."""
    long = text * (times // len(text) + 1)
    problem = PROBLEM.model_copy(update={"description": long, "preview": long})
    draft = {"method": long, "codebase": long}
    work = code(steps=3)
    work = work.model_copy(update={"draft": work.draft.model_copy(update=draft)})
    world = World(tmp_path_factory.mktemp("attempt"), cells={"look": lambda workspace: long})
    said = [json.dumps(_STEP | {"code": "look"})] * 3
    world.model = ScriptedModel(said, context_tokens=8_192)
    agent = agent_for(problem)
    execute(agent, work, world.folder.work("attempt-000"), world.dependencies())
    for request in world.model.requests:
        assert sum(count_tokens(message.content) for message in request.messages) <= 6_500


def test_scores_that_stand_still_end_an_attempt(tmp_path: Path) -> None:
    """After `patience` scored steps without a significant gain the attempt stops early and reports."""
    agent = agent_for(parameters=CoMindParameters(patience=2))
    world = World(tmp_path, cells={FRAME: lambda workspace: ""})
    cells = ["good", "better", "good", "look", "good"]
    replies = [*({"goal": "g", "code": cell} for cell in cells), {"summary": "Reported."}]
    world.model = ScriptedModel([json.dumps(reply) for reply in replies])
    work = code(steps=9)
    outcome = execute(agent, work, world.folder.work("attempt-000"), world.dependencies())
    assert isinstance(outcome, CodeOutcome)
    assert (outcome.steps, outcome.report) == (6, "Reported.")
    feedback = [request.messages[-1].content for request in world.model.requests]
    assert "0.05 better than your best before it" in feedback[2]
    assert "0.05 worse than your best before it" in feedback[3]
    assert "clearly real" in feedback[3]
