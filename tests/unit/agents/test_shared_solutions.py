"""What finished attempts trained is mounted for later ones, with its score and running time."""

from comind.agents.comind.coding_agent import mounted
from comind.agents.comind.thoughts import COORDINATE
from comind.campaign.baseline_first import BaselineFirst
from comind.campaign.log.campaign_events import CampaignEvent
from comind.campaign.log.outcome import CodeOutcome
from comind.campaign.log.work import Code
from comind.domain.draft import Draft
from tests.unit.agents.rounds import attempt, baseline, state_of, thought
from tests.unit.agents.samples import agent_for
from tests.unit.campaign.samples import code, failed, scored


def _stackable(value: float) -> CodeOutcome:
    outcome = scored(value)
    assert outcome.submitted is not None
    submitted = outcome.submitted.model_copy(update={"out_of_fold_sha256": "c" * 64})
    changes = {"out_of_fold": outcome.score, "submitted": submitted, "code_seconds": 90.0, "code": "x"}
    return outcome.model_copy(update=changes)


def _planned(*events: CampaignEvent, members: tuple[str, ...] = ()) -> Code:
    """Return the attempt that is planned at the only draft of a round, after these events."""
    draft = Draft(title="new", method="b", members=members, inputs=members)
    drafted = thought(0, COORDINATE, {"drafts": [draft.model_dump(mode="json")]})
    # Attempts before a draft were other drafts.
    others = sum(each.type == "work-planned" for each in events) - 1
    before = [draft.model_copy(update={"title": f"old {n}"}) for n in range(others)]
    drafts = [each.model_dump(mode="json") for each in [*before, draft]]
    drafted = thought(0, COORDINATE, {"drafts": drafts})
    [work, *_] = agent_for().plan(state_of(*events, *drafted))
    assert isinstance(work, Code)
    return work


def test_fresh_drafts_have_the_baselines_predictions() -> None:
    """Once it has a score; its score and running time are recorded with the work."""
    work = _planned(*baseline(scored(0.7).model_copy(update={"code_seconds": 12.0})))
    assert work.inputs == ("attempt-000",)
    path, told = mounted(work, "attempt-000", ran=False)
    assert path == "input/solutions/attempt-000/"
    assert told == (
        "a solution, accuracy 0.7 [0.7, 0.7], whose code ran 12 s: its predictions in "
        "validation_submission.csv, submission.csv; code.py, report.md, checkpoints/"
    )
    assert _planned(*baseline(failed())).inputs == ()


def test_what_can_be_stacked_is_mounted() -> None:
    """Of later attempts the best with out-of-fold predictions; an ensemble has its members alone."""
    events = [*baseline(), *attempt(1, code(), _stackable(0.8)), *attempt(2, code(), scored(0.9))]
    work = _planned(*events)
    assert work.inputs == ("attempt-000", "attempt-001")
    told = mounted(work, "attempt-001", ran=False)[1]
    assert "whose code ran 1 min 30 s" in told
    assert "out_of_fold.csv, validation_submission.csv" in told
    assert "probabilities" not in told
    assert _planned(*events, members=("attempt-002",)).inputs == ("attempt-002",)
    state = state_of(*events, *attempt(3, code(), _stackable(0.95)))
    [last, *_] = agent_for().remainder(state)
    assert last.inputs == ("attempt-003", "attempt-000", "attempt-001")


def test_probabilities_of_mounted_solutions_are_named() -> None:
    """Where an attempt has probabilities beside its labels, the next ones are told so."""
    outcome = _stackable(0.8)
    assert outcome.submitted is not None
    submitted = outcome.submitted.model_copy(update={"test_probabilities_sha256": "d" * 64})
    outcome = outcome.model_copy(update={"submitted": submitted})
    told = mounted(_planned(*baseline(), *attempt(1, code(), outcome)), "attempt-001", ran=False)[1]
    assert "submission.csv, *_probabilities.csv; code.py" in told


def test_a_hidden_baseline_is_not_mounted() -> None:
    """Where agents do not see the baseline, no attempt reads it."""
    draft = Draft(title="new", method="b").model_dump(mode="json")
    state = state_of(*baseline(), *thought(0, COORDINATE, {"drafts": [draft]}), baseline="hidden")
    [work] = BaselineFirst(agent_for()).plan(state)
    assert work.inputs == ()


def test_work_of_older_logs_is_described_as_before() -> None:
    """Without recorded facts a mounted solution has no score in its line."""
    assert mounted(code(), "attempt-000", ran=False)[1].startswith("a solution: code.py")
