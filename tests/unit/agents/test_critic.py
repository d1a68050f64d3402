"""The critic: programs of finalists are read for leakage, and run without what was found."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from comind.agents.comind import CoMind
from comind.agents.comind.critic import CRITICIZE, Finalist, critic_work
from comind.agents.comind.journal import journal_of
from comind.agents.comind.parameters import CoMindParameters
from comind.agents.comind.thoughts import COORDINATE, PROPOSE
from comind.campaign.log.campaign_events import AttemptRejected, CampaignEvent, WorkPlanned
from comind.campaign.log.campaign_folders import WorkFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work import Code, Done, Think, Wait
from comind.campaign.loop import Campaign
from comind.campaign.worker import execute
from comind.domain.community import CommunityView
from comind.domain.competition import ProgramLimits
from comind.domain.draft import Draft, Operator
from comind.domain.metric import Interval, Paired
from comind.domain.problem import FOLDS_AT
from comind.domain.spend import Spend
from comind.grading.grader_server import SplitGrader
from comind.llm.model_ports import ModelRequest
from comind.session.kernel_session import KernelSession
from comind.session.process import ProcessSandbox
from comind.session.session_ports import Session
from comind.splits.extra_folds import FOLDS_FILE, write_folds
from comind.splits.split_folder import SplitFolder
from comind.testing import ColumnGrader, ScriptedModel
from tests.unit.agents.graded_cells import split_of_kind
from tests.unit.agents.rounds import attempt, baseline, state_of, thought
from tests.unit.agents.samples import FRAME, agent_for
from tests.unit.campaign.samples import code, scored, split_made
from tests.unit.campaign.world import World, hand_in

_LEAK = 'means = pd.concat([train, validation, test]).groupby("id")["label"].mean()'
_CLEAN = 'means = train.groupby("id")["label"].mean()'
_PROGRAM = f'{_LEAK}\ntrain["mean"] = train["id"].map(means)\nsubmit(model(validation), model(test))'
_LEAKING = {
    "fault": "fit on validation or test rows",
    "line": _LEAK,
    "why": "The encoding is computed over rows of all three tables.",
    "search": _LEAK,
    "replace": _CLEAN,
}
_IDS = {
    "fault": "ids as features",
    "line": 'train["mean"] = train["id"].map(means)',
    "why": "No model has it.",
    "search": 'train["mean"] = train["id"].map(means)',
    "replace": "pass",
}
_INVENTED = _LEAKING | {
    "line": "scaler.fit(np.vstack([a, b]))",
    "search": "scaler.fit(np.vstack([a, b]))",
}


def _program(number: int, value: float = 0.8, **values: Any) -> list[CampaignEvent]:
    """Return a scored attempt whose program leaks."""
    changes = {"code": _PROGRAM, "code_seconds": 9.0, **values}
    draft = Draft(title=f"draft {number}", method="m", inputs=("ada/rows",))
    work = code().model_copy(update={"draft": draft, "inputs": ("ada/rows",)})
    return attempt(number, work, scored(value).model_copy(update=changes))


def _state(*events: CampaignEvent, critic: bool = True, **spec: Any) -> CampaignState:
    """Return a campaign of a weak baseline, and these events."""
    parameters = {"critic": critic}
    return state_of(*baseline(scored(0.01)), *events, **{"parameters": parameters, **spec})


def _late(*events: CampaignEvent, minutes: float = 5.0, **spec: Any) -> CampaignState:
    """Return a campaign of which more than two thirds of the time are over."""
    state = _state(*events, iterations=None, **spec)
    used = state.spend.model_copy(update={"seconds": 3600 - 60 * minutes})
    return CampaignState(**{name: getattr(state, name) for name in state.__slots__} | {"spend": used})


def _read(number: int, *, corrected: str = "clean", **finding: Any) -> list[CampaignEvent]:
    """Return a program that the critic has read."""
    found = {"fault": _LEAKING["fault"], "line": _LEAK, "why": "w", "removed": True, **finding}
    facts = Finalist(id=f"attempt-{number:03d}", title="t", score="r", code=_PROGRAM, seconds=9)
    result = {"findings": [found], "corrected": corrected}
    return thought(number, CRITICIZE, result, **facts.model_dump())


def _work(state: CampaignState, *, over: bool = False, **parameters: Any) -> list[Think | Code]:
    return critic_work(state, CoMindParameters(**parameters), over=over)


# --- when it works --------------------------------------------------------------------------------


def test_finalists_are_read_late_and_once() -> None:
    """The eight best programs of models are read when two thirds of the time are over, each once."""
    programs = [event for n in range(1, 11) for event in _program(n, n / 20)]
    early = _state(*programs, iterations=None)
    assert _work(early) == []
    assert len(_work(early, over=True)) == 8
    found = [CRITICIZE.facts_of(each) for each in _work(_late(*programs)) if isinstance(each, Think)]
    assert [each.id[-2:] for each in found] == ["10", "09", "08", "07", "06", "05", "04", "03"]
    assert found[0].code == _PROGRAM
    again = _work(_late(*programs, *_read(10, corrected="")))
    assert [CRITICIZE.facts_of(each).id[-2:] for each in again if isinstance(each, Think)] == [
        *("09", "08", "07", "06", "05", "04", "03")
    ]


def test_the_best_eight_are_finalists() -> None:
    """Programs of lower rank are not read, however many calls are allowed."""
    programs = [event for n in range(1, 11) for event in _program(n, n / 20)]
    assert len(_work(_late(*programs), critic_calls=20)) == 8


def test_it_makes_at_most_as_many_calls_as_allowed() -> None:
    """Programs that become finalists later are not read after the last call."""
    events: list[CampaignEvent] = []
    asked = 0
    for number in range(1, 20):
        events += _program(number, number / 20)
        for _ in _work(_late(*events)):
            asked += 1
        events += _read(number, corrected="") if asked >= number else []
    assert asked == 8
    assert len(_work(_late(*_program(1), *_program(2)), critic_calls=1)) == 1


@pytest.mark.parametrize(
    ("minutes", "changes"),
    [(0.5, {}), (5.0, {"code": ""}), (5.0, {"code_seconds": 1e6})],
    ids=["no time", "no program", "too slow"],
)
def test_some_programs_are_not_read(minutes: float, changes: Mapping[str, Any]) -> None:
    """Without a program, or without time to run it once more, nothing is read."""
    assert _work(_late(*_program(1, **changes), minutes=minutes)) == []


def test_it_can_be_switched_off() -> None:
    """Nothing is read without `critic`, or with no calls."""
    assert len(_work(_late(*_program(1)))) == 1
    assert _work(_late(*_program(1), critic=False)) == []
    assert _work(_late(*_program(1)), critic_calls=0) == []


def test_a_rejected_program_is_not_read() -> None:
    """It is no finalist, also where all were rejected."""
    why: dict[str, Any] = {"rejected": "the checker: labels leak"}
    outcome = scored(0.1).model_copy(update=why)
    state = state_of(*attempt(0, code(), outcome), *_program(1, **why), parameters={"critic": True})
    assert _work(state, over=True) == []


def test_programs_that_are_submitted_are_not_read() -> None:
    """Where submissions are programs, none can be fitted on what it is graded on."""
    split = split_made(program=ProgramLimits(seconds=7, memory_mb=640))
    state = _state(split, *_program(1))
    assert state.submits_programs
    assert _work(state, over=True) == []


def test_a_campaign_that_began_without_a_critic_goes_on_without() -> None:
    """The parameters of its log do not have it."""
    for parameters, number in (({}, 0), ({"patience": 6}, 0), ({"critic": True}, 1)):
        assert len(_work(_state(*_program(1), parameters=parameters), over=True)) == number


def test_the_baseline_is_not_read() -> None:
    """Attempt 0 is a program of the platform's."""
    zero = baseline(scored(0.9).model_copy(update={"code": _PROGRAM}))
    assert _work(state_of(*zero, parameters={"critic": True}), over=True) == []


def test_a_corrected_program_runs_in_a_free_slot() -> None:
    """It is an attempt with the finalist as parent, one step, and a bit more time than it took."""
    events = [*_program(1), *_read(1)]
    [planned] = _work(_late(*events))
    assert isinstance(planned, Code)
    assert (planned.operator, planned.parents) == (Operator.DEBUG, ("attempt-001",))
    assert planned.draft.codebase == "clean"
    assert planned.inputs == ("ada/rows",)
    assert (planned.budget.steps, planned.budget.seconds) == (1, 43.5)
    assert planned.reference is not None
    assert planned.reference.attempt == "attempt-001"
    busy = [*attempt(2, code(), None), *attempt(3, code(), None)]
    assert _work(_late(*events, *busy)) == []
    assert _work(_late(*events, *attempt(2, planned, None))) == []
    assert _work(_late(*events, minutes=0.6)) == [], "it would not end in time"
    used = [*_program(1, spend=Spend(evaluations=1)), *_read(1)]
    for most, number in ((1, 0), (2, 1)):
        limited = _state(*used, evaluations=most)
        assert len(_work(limited, over=True)) == number


def test_rounds_go_on_while_the_critic_reads() -> None:
    """Its work is planned beside that of rounds, and its thoughts are no stage of them."""
    agent = agent_for(parameters=CoMindParameters(solutions_per_round=0, one_call_minutes=0))
    events, purposes = _program(1), []
    for number in range(2):
        planned = agent.plan(_late(*events))
        assert isinstance(planned, list)
        purposes += [each.purpose for each in planned if isinstance(each, Think)]
        events += [WorkPlanned(id=f"think-{number:03d}", work=each) for each in planned]
    assert purposes == ["propose", "criticize"]
    assert agent.plan(_late(*events)) == Wait()
    ideas = thought(0, PROPOSE, {"ideas": []})
    [reading] = _work(_late(*_program(1)))
    assert isinstance(reading, Think)
    events = [
        *_program(1),
        *ideas,
        *thought(1, CRITICIZE, {}, **CRITICIZE.facts_of(reading).model_dump()),
    ]
    after = agent.plan(_late(*events))
    assert isinstance(after, list)
    assert [each.purpose for each in after if isinstance(each, Think)] == ["coordinate"]


def test_a_rerun_takes_no_draft_from_a_round() -> None:
    """Waiting drafts are counted without re-runs, which came from no draft."""
    drafts = [{"title": f"draft {n}", "method": "m"} for n in (1, 2)]
    drafted = thought(0, agent_for().purposes[2], {"drafts": drafts})
    [planned] = _work(_late(*_program(1), *_read(1)))
    assert isinstance(planned, Code)
    state = _late(*drafted, *_program(1), *_read(1), *attempt(2, planned, None), coders=3)
    following = agent_for().plan(state)
    assert isinstance(following, list)
    assert [each.draft.title for each in following if isinstance(each, Code)] == ["draft 2"]
    first = agent_for().plan(_late(*drafted, *_program(1), *_read(1), coders=3))
    assert first == [planned], "it is short, so it comes first"


# --- what it finds --------------------------------------------------------------------------------


def _criticized(root: Path, *findings: dict[str, Any], program: str = _PROGRAM) -> dict[str, Any]:
    world = World(root)
    world.model = ScriptedModel([json.dumps({"findings": findings})])
    facts = Finalist(id="attempt-001", title="t", score="r", code=program, seconds=9)
    work = CRITICIZE.work(facts)
    outcome = execute(agent_for(), work, world.folder.work("think-000"), world.dependencies())
    assert outcome.kind == "think"
    assert outcome.failure is None, outcome.failure
    asked = world.model.requests[0].messages[-1].content
    assert program in asked
    assert world.model.requests[0].role == "critic"
    return dict(outcome.result.root)


def test_a_finding_quotes_a_line_of_the_program(tmp_path: Path) -> None:
    """One whose quote does not stand in the program is dropped; of the others the fault is removed."""
    result = _criticized(tmp_path, _INVENTED, _LEAKING)
    assert [each["line"] for each in result["findings"]] == [_LEAK]
    assert result["dropped"] == ["scaler.fit(np.vstack([a, b]))"]
    assert result["corrected"] == _PROGRAM.replace(_LEAK, _CLEAN)


@pytest.mark.parametrize(
    "change",
    [
        {"search": "submit(model(validation), model(test))", "replace": "pass"},
        {"search": _LEAK, "replace": "means = ("},
        {"search": _LEAK, "replace": _LEAK},
        {"search": f"{_LEAK}\nmade up", "replace": _CLEAN},
        {"search": "", "replace": ""},
    ],
    ids=["other lines", "no Python", "unchanged", "not in the program", "none"],
)
def test_a_fault_that_cannot_be_removed_is_a_note(change: dict[str, str], tmp_path: Path) -> None:
    """Lines in its place have to contain the quoted one, and to leave a program that parses."""
    result = _criticized(tmp_path, _LEAKING | change)
    assert [each["removed"] for each in result["findings"]] == [False]
    assert result["corrected"] == ""


def test_several_faults_are_removed_together(tmp_path: Path) -> None:
    """The corrected program is without all of them."""
    result = _criticized(tmp_path, _LEAKING, _IDS)
    assert result["corrected"] == _PROGRAM.replace(_LEAK, _CLEAN).replace(_IDS["line"], "pass")


def test_a_dead_end_is_only_noted(tmp_path: Path) -> None:
    """It is not removed, so no run is spent on it."""
    result = _criticized(tmp_path, _IDS | {"fault": "dead end"})
    assert [each["removed"] for each in result["findings"]] == [False]
    assert result["corrected"] == ""


def test_late_readings_begin_no_other_attempts() -> None:
    """A program is read only while it can run again; after the last round nothing else begins."""
    late = _late(*_program(1), minutes=1.0)
    assert _work(late, over=True) == []
    over = agent_for(parameters=CoMindParameters(critic=True))
    done = thought(0, COORDINATE, {"drafts": [Draft(title="d", method="m").model_dump(mode="json")]})
    ended = _late(*done, *_program(1)).spec.model_copy(update={"iterations": 1})
    state = _late(*done, *_program(1), minutes=5.0)
    state = CampaignState(**{n: getattr(state, n) for n in state.__slots__} | {"opened": ended})
    assert over.remainder(state) == []


# --- what comes of it -----------------------------------------------------------------------------


def _paired(difference: float, error: float = 0.01) -> Paired:
    around = Interval(low=difference - error, high=difference + error)
    return Paired(difference=difference, standard_error=error, interval=around)


def _after_rerun(gain: Paired | None, value: float | None = 0.79, **finding: Any) -> CampaignState:
    """Return a campaign in which a program ran without what the critic found."""
    events = [*_program(1), *_read(1, **finding)]
    [planned] = _work(_late(*events))
    assert isinstance(planned, Code)
    outcome = scored(0 if value is None else value).model_copy(update={"gain": gain})
    if value is None:
        outcome = outcome.model_copy(update={"score": None, "submitted": None})
    return _late(*events, *attempt(2, planned, outcome))


@pytest.mark.parametrize(
    ("difference", "rejected"),
    [(0.02, True), (0.0, True), (-0.01, True), (-0.011, False), (-0.1, False)],
)
def test_a_program_is_rejected_that_scores_as_well_without_a_leak(
    difference: float, rejected: bool
) -> None:
    """A re-run within one standard error, or better, rejects it; a worse one leaves it as it is."""
    found = agent_for().rejections(_after_rerun(_paired(difference)))
    assert list(found) == ["attempt-001"] * rejected
    for reason in found.values():
        assert reason.startswith("the critic: fit on validation or test rows, line `means = pd.concat")
        assert reason.endswith("`; without it attempt-002: accuracy 0.79 [0.79, 0.79]")


def test_dead_ends_and_failed_reruns_reject_nothing() -> None:
    """What is only useless does no harm; without a score of the re-run nothing is known."""
    agent = agent_for()
    assert agent.rejections(_after_rerun(_paired(0.0), fault="dead end")) == {}
    assert agent.rejections(_after_rerun(None, value=None)) == {}
    assert agent.rejections(_late(*_program(1), *_read(1))) == {}


@pytest.mark.parametrize(
    ("gain", "value", "told"),
    [
        (
            0.0,
            0.79,
            (
                "rejected; attempt-002 without it: accuracy 0.79 \\[0.79, 0.79\\], +0, so the line does "
                "not help"
            ),
        ),
        (
            -0.1,
            0.7,
            (
                "kept; attempt-002 without it: accuracy 0.7 \\[0.7, 0.7\\], -0.1, so the line helps on "
                "rows whose labels it does not have"
            ),
        ),
        (None, None, "attempt-002 without it: no score"),
    ],
)
def test_the_journal_says_what_came_of_it(gain: float | None, value: float | None, told: str) -> None:
    """Findings stand with their line and reason, below the result of the re-run."""
    state = _after_rerun(None if gain is None else _paired(gain), value)
    lines = journal_of(state, CommunityView()).partition("## The critic\n\n")[2].splitlines()
    assert lines[0] == f"- attempt-001: {told}"
    assert lines[1].startswith("  - fit on validation or test rows: means = pd.concat")


# --- a whole campaign -----------------------------------------------------------------------------


def _replies(finding: dict[str, Any], program: str = _PROGRAM) -> Callable[[ModelRequest], str]:
    """Return a model whose coder writes a program that leaks, and whose critic finds that."""
    names = iter(["leak", "# done", "# done", "# done"])

    def reply(request: ModelRequest) -> str:
        match request.role, request.reply_name:
            case "critic", _:
                return json.dumps({"findings": [finding]})
            case "idea_proposer", "Brainstorm":
                return json.dumps({"paths": [{"approach": "a", "ideas": ["Encode the ids."]}]})
            case "idea_proposer", _:
                return json.dumps({"ideas": [{"text": "Encode the ids.", "value": 5}]})
            case "coordinator", _:
                return json.dumps({"drafts": [{"title": "encoding", "kind": "novel", "method": "m"}]})
            case _, "AttemptReport":
                return json.dumps({"summary": "It works."})
            case _:
                name = next(names)
                return json.dumps({"goal": "g", "code": program if name == "leak" else name})

    return reply


def _campaign(
    root: Path, without: object | None, finding: dict[str, Any]
) -> tuple[CampaignState, World]:
    clean = f"{FRAME}\n\n{_PROGRAM}".replace(_LEAK, _CLEAN)
    cells: dict[str, object] = {FRAME: lambda workspace: "", _PROGRAM: hand_in("0.9")}
    cells |= {clean: without} if without is not None else {}
    world = World(root, cells=cells, grader=ColumnGrader(noise=0.02))
    agent: CoMind = agent_for()
    world.agent = agent  # type: ignore[assignment]
    world.model = ScriptedModel(_replies(finding))
    campaign: Campaign = world.campaign(iterations=1, coders=1, steps=4, parameters={"critic": True})
    return world.run(campaign), world


@pytest.mark.parametrize(
    ("without", "delivered"),
    [(hand_in("0.89"), "attempt-001"), (hand_in("0.5"), "attempt-000"), (None, "attempt-000")],
    ids=["as good without", "worse without", "fails without"],
)
def test_a_leaking_program_is_run_without_its_leak(
    without: object | None, delivered: str, tmp_path: Path
) -> None:
    """It is delivered only if it scores better with the condemned line on the sealed rows."""
    state, world = _campaign(tmp_path, without, _LEAKING)
    assert [each.id for each in state.works.attempts()] == ["attempt-000", "attempt-001"]
    assert state.delivered() is not None
    assert state.delivered().id == delivered  # type: ignore[union-attr]
    assert bool(state.works.attempt("attempt-000").rejected) == (delivered == "attempt-001")
    assert sum(request.role == "critic" for request in world.model.requests) == 1
    assert isinstance(state.works["attempt-001"].work, Code)
    log = world.folder.log.read_text()
    assert (AttemptRejected.model_fields["type"].default in log) == (delivered == "attempt-001")


def test_a_campaign_of_unfounded_findings_ends_as_without(tmp_path: Path) -> None:
    """A quote that stands nowhere plans no attempt."""
    state, world = _campaign(tmp_path, None, _INVENTED)
    assert [each.id for each in state.works.attempts()] == ["attempt-000"]
    assert isinstance(world.agent.plan(state), Done)


# --- real cells, real scores ----------------------------------------------------------------------

_ALL_ROWS = 'scale = pd.concat([train, validation, test])["f"].std()'
_LIMIT = 'limit = train["f"][train["label"] == "yes"].max()'
_REAL = f"""{_ALL_ROWS}
{_LIMIT}


def predict(table):
    return np.where(table["f"] / scale <= limit / scale, "yes", "no")


submit(predict(validation), predict(test))"""


class _Real(World):
    """A world of real kernels on a real split."""

    split: SplitFolder

    def session(self, work: Code, folder: WorkFolder, *_: object) -> Session:
        """Open a kernel beside the tables of the split."""
        del work
        inputs = folder.workspace / "input"
        inputs.mkdir(parents=True, exist_ok=True)
        (inputs / "demo").symlink_to(self.split.public)
        write_folds(self.split.public, self.split.read(), folder.workspace / FOLDS_AT / FOLDS_FILE)
        return KernelSession(
            ProcessSandbox(),
            folder.workspace,
            env={"OMP_NUM_THREADS": "1"},
            memory_bytes=4 << 30,
            log=folder.root / "session.log",
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "without", "delivered"),
    [
        (_ALL_ROWS, 'scale = train["f"].std()', "attempt-001"),
        (_LIMIT, "limit = -1", "attempt-000"),
    ],
    ids=["scaled over all rows", "what the model learns"],
)
def test_a_real_program_is_rejected_or_kept_by_its_scores(
    line: str, without: str, delivered: str, tmp_path: Path
) -> None:
    """Statistics over all rows that gain nothing reject it; a line that carries the score does not."""
    split = split_of_kind(tmp_path, "labels")
    world = _Real(tmp_path / "world", grader=SplitGrader(split))
    world.split = split
    world.agent = agent_for()  # type: ignore[assignment]
    finding = _LEAKING | {"line": line, "search": line, "replace": without}
    world.model = ScriptedModel(_replies(finding, _REAL))
    state = world.run(world.campaign(iterations=1, coders=1, steps=4, parameters={"critic": True}))
    scores = [each.score.value.value for each in state.works.attempts() if each.score]
    assert len(scores) == 2
    assert (scores[0] == scores[1] > 0.9) == (delivered == "attempt-001")
    picked = state.delivered()
    assert picked is not None
    assert picked.id == delivered
