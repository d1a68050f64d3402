"""Lines and footer of the progress display."""

import io
from datetime import UTC, datetime

import pytest
from rich.console import Console

from comind.app.terminal.campaign_progress import (
    _budget_lines,
    _tuning_lines,
)
from comind.app.terminal.live_table import (
    _activity,
    _best_text,
    _spend_text,
    live_table,
    sparkline,
)
from comind.campaign.log.campaign_events import CampaignEvent, FinalPicked, FoldFinished, FoldsPlanned
from comind.campaign.log.event_lines import campaign_line, outcome_text, work_line
from comind.campaign.log.outcome import CodeOutcome, Failure, FailureCause, Submitted, ThinkOutcome
from comind.campaign.log.work_events import (
    CallAnswered,
    CallSent,
    CellEnded,
    CellStarted,
    Graded,
    MonitorAsked,
    MonitorHeard,
    RequestFailed,
    SessionOpened,
)
from comind.campaign.log.work_state import WORK_LOG, AttemptState
from comind.campaign.reports.campaign_view import CampaignView
from comind.campaign.reports.tuning import Tuning
from comind.domain.environment import FetchedInputs
from comind.domain.spend import Budget, LimitReached, Spend
from comind.domain.value import Payload
from comind.eventlog.log import Record
from comind.grading.grader_port import GradeReport, ScoreBreakdown, SubsetScore
from comind.llm.model_ports import ModelReply, Usage
from comind.session.session_ports import CellResult, CellStatus
from tests.unit.agents.rounds import attempt, baseline, state_of
from tests.unit.campaign.samples import code, score, scored, split_made
from tests.unit.campaign.work_logs import records_of


def test_a_stopped_cell_is_told_with_its_reason() -> None:
    """The line of a cell that the monitor stopped has the monitor's reason."""
    error = "the monitor stopped it after 40 s: the loss explodes (it printed: loss: 9e9)"
    ended = CellEnded(ordinal=0, result=CellResult(status=CellStatus.STOPPED, error=error))
    state = WORK_LOG.fold(records_of(CellStarted(ordinal=0, step=3, goal="Fit.", code="fit()")))
    assert work_line(ended, state) == f"step 3 stopped: {error}"


@pytest.mark.parametrize(
    ("fetched", "more"),
    [
        (None, ""),
        (FetchedInputs(size=1_200_000_000, seconds=11.6), ", fetched 1.2 GB in 12 s"),
        (
            FetchedInputs(size=5_000, store_failure="HTTP 503"),
            ", fetched 5.0 kB in 0 s from the driver, not from the store: HTTP 503",
        ),
    ],
)
def test_the_line_of_a_session_has_what_its_node_fetched(
    fetched: FetchedInputs | None, more: str
) -> None:
    """And why it did not come from the store."""
    opened = SessionOpened(sandbox="bubblewrap", sealed=True, node="a", threads=2, fetched=fetched)
    assert work_line(opened, AttemptState()) == f"session in bubblewrap on a, 2 threads{more}"


_RAISED = """Traceback (most recent call last):
  File "/work/code.py", line 9, in <module>
    fit(rows)
ZeroDivisionError: division by zero

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/work/code.py", line 11, in fit
    raise ValueError(words)
ValueError: Input X contains NaN.
Linear models do not accept missing values:

impute them first
"""
_IN_A_NOTEBOOK = """-----------------------------------------------
ValueError        Traceback (most recent call last)
Cell In[2], line 4
----> 4 model.fit(tables['train'])

File /usr/lib/python3/dist-packages/sklearn/base.py:1351, in fit(self, X)
-> 1351     return fit_method(estimator, *args, **kwargs)

ValueError: Input X contains NaN.
Linear models do not accept missing values.
"""


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (_RAISED, "ValueError: Input X contains NaN."),
        (_IN_A_NOTEBOOK, "ValueError: Input X contains NaN."),
        ("  Cell In[1], line 1\n    x = (\n         ^\nSyntaxError: invalid", "SyntaxError: invalid"),
        ("Traceback (most recent call last):\n  File 1\nAssertionError\n", "AssertionError"),
        (_RAISED.replace("Input X", "a" * 300), f"ValueError: {'a' * 148} ..."),
        ("warned\nSegmentation fault\n", "Segmentation fault"),
        ("Traceback (most recent call last):\n  of nothing", "of nothing"),
    ],
    ids=["chained", "notebook", "syntax", "bare", "long", "no Python", "torn"],
)
def test_a_failed_step_is_told_by_what_is_wrong(error: str, told: str) -> None:
    """The line of a failed step has the first line of the exception's message, truncated."""
    ended = CellEnded(ordinal=0, result=CellResult(status=CellStatus.ERROR, error=error))
    assert work_line(ended, AttemptState()) == f"step 0 failed: {told}"


def test_a_question_of_the_monitor_without_an_answer_is_told() -> None:
    """A failed request of the monitor has a line; a successful one has none."""
    failed = MonitorHeard(seconds=2, failure="the model m refuses\nthe key")
    told = "the monitor got no reply: the model m refuses the key"
    assert work_line(failed, AttemptState()) == told
    reply = ModelReply(text="", model="m")
    answered = MonitorHeard(seconds=2, reply=reply, failure="the line that it quotes was not printed")
    assert work_line(answered, AttemptState()) == ""


def test_folds_and_what_the_pick_rests_on_are_told() -> None:
    """Lines name the attempts on folds, or the reason for none, and the confidence of the pick."""
    left_out = ("attempt-002 has no scores on folds: it had packages installed",)
    told = {
        FoldsPlanned(finalists=("a", "b"), folds=2, reason="no more rows", left_out=left_out): (
            f"2 folds for a, b; no more rows; {left_out[0]}"
        ),
        FoldsPlanned(finalists=("a",), members=("b", "a"), folds=2): "2 folds for a, b",
        FoldFinished(fold=1, continuing=("a", "c"), dropped=("b is 0.2 behind a",)): (
            "continue after fold 1: a, c; b is 0.2 behind a"
        ),
        FoldsPlanned(reason="one attempt alone has a score"): "no folds: one attempt alone has a score",
        FinalPicked(
            work_id="a", reason="the best", leaderboard=(), folds=1, confidence=0.8, shrinkage=0.01
        ): (
            "final pick a: the best\n  80% sure that no other is better, by validation and 1 fold; "
            "its score on validation is 0.01 better than on folds"
        ),
        FinalPicked(
            work_id="a", reason="the best", leaderboard=(), folds=2, confidence=1.0, shrinkage=-0.02
        ): (
            "final pick a: the best\n  over 99% sure that no other is better, by validation and 2 "
            "folds; its score on validation is 0.02 worse than on folds"
        ),
        FinalPicked(work_id="a", reason="the best", leaderboard=()): "final pick a: the best",
    }
    for event, line in told.items():
        record: Record[CampaignEvent] = Record(
            seq=0, at=datetime(2026, 1, 1, tzinfo=UTC), elapsed=0.0, event=event
        )
        assert campaign_line(record.event) == line


def test_the_worst_part_of_a_score_is_told() -> None:
    """A scored step's line ends with the target, or block of rows, that is worst."""
    worst = (
        SubsetScore(name="depth", value=0.5, share=0.5),
        SubsetScore(name="width", value=0.9, share=0.5),
    )
    parts = (ScoreBreakdown(by="target", count=2, worst=worst),)
    submitted = Submitted(step=1, validation_sha256="a", test_sha256="b")
    report = GradeReport(valid=True, score=score(0.7), parts=parts)
    graded = Graded(ordinal=0, submitted=submitted, report=report)
    line = "step 0: accuracy 0.7 [0.7, 0.7], worst target depth: 0.5"
    assert work_line(graded, AttemptState()) == line


def test_a_score_is_told_with_that_of_the_folds() -> None:
    """The line has the out-of-fold score or its error after the score, which it does not affect."""
    submitted = Submitted(step=1, validation_sha256="a", test_sha256="b")
    wrong = GradeReport(valid=False, message="is empty")
    given = GradeReport(valid=True, score=score(0.9))
    verdicts = [
        (None, "accuracy 0.9 [0.9, 0.9]"),
        (given, "accuracy 0.9 [0.9, 0.9]; out of fold: accuracy 0.9 [0.9, 0.9]"),
        (wrong, "accuracy 0.9 [0.9, 0.9]; out of fold: not scored: is empty"),
    ]
    for out_of_fold, line in verdicts:
        graded = Graded(ordinal=1, submitted=submitted, report=given, out_of_fold=out_of_fold)
        assert work_line(graded, AttemptState()) == f"step 0: {line}"
    for beside, more in ((given, ""), (wrong, "; probabilities: is empty")):
        graded = Graded(ordinal=1, submitted=submitted, report=given, probabilities=beside)
        assert work_line(graded, AttemptState()) == f"step 0: accuracy 0.9 [0.9, 0.9]{more}"
    result = CellResult(status=CellStatus.OK)
    ended = CellEnded(ordinal=0, result=result, submitted=submitted, refused="not a plain file")
    assert "not scored" not in work_line(ended, AttemptState())


def test_the_pick_is_told_with_what_it_rests_on() -> None:
    """The final pick has a line with gradings and optimism, and warnings."""
    tuning = Tuning(gradings=9, rows=40, error=0.02, optimism=0.03, others=2, near=2, lead=0.01)
    told, *warnings = _tuning_lines(tuning)
    assert told == "9 gradings, optimism about 0.03 on 40 validation rows"
    assert [line.startswith("WARNING: ") for line in warnings] == [True, True]
    assert _tuning_lines(Tuning(gradings=1, rows=40)) == ["1 grading on 40 validation rows"]


def test_a_half_and_four_fifths_of_a_limit_are_told_once() -> None:
    """Each share of a limit is warned of once, and again after the limit is raised."""
    told: set[LimitReached] = set()
    budget = Budget(usd=10.0, tokens=1_000)

    def lines(usd: float, tokens: int, budget: Budget = budget) -> list[str]:
        return list(_budget_lines(Spend(usd=usd, prompt_tokens=tokens), budget, told))

    assert lines(4.9, 499) == []
    assert lines(5.0, 499) == ["budget: 50% of 10 dollars are spent (5)"]
    assert lines(5.5, 499) == []
    assert lines(8.2, 900) == [
        "budget: 80% of 10 dollars are spent (8.2)",
        "budget: 50% of 1000 tokens are spent (900)",
        "budget: 80% of 1000 tokens are spent (900)",
    ]
    assert lines(8.2, 900, Budget(usd=12.0)) == ["budget: 50% of 12 dollars are spent (8.2)"]
    assert lines(9.0, 900, Budget()) == []


def test_the_footer_names_the_final_pick_or_the_best_so_far() -> None:
    """Before the final pick the best attempt is named; after it, the pick, even if it scored less."""
    events = [*baseline(scored(0.7)), *attempt(1, code(), scored(0.9))]
    picked = FinalPicked(work_id="attempt-000", reason="the simplest", leaderboard=())

    def text(*events: CampaignEvent) -> str:
        return _best_text(CampaignView(state_of(*events), {}))

    assert text() == "nothing scored yet"
    assert text(*events).startswith("best accuracy 0.9 ")
    assert text(*events).endswith("(attempt-001, step 1)")
    assert text(*events, picked).startswith("final pick accuracy 0.7 ")
    assert text(*events, picked).endswith("(attempt-000, step 1)")


def test_the_footer_tells_what_is_spent_of_what() -> None:
    """The footer has tokens, cached share, dollars and retries, with their limits."""
    spend = Spend(prompt_tokens=80, cached_tokens=40, completion_tokens=20, usd=1.5, retries=2)
    assert _spend_text(spend, Budget()) == "100 tokens (50% cached), $1.50, 2 retries"
    assert _spend_text(spend, Budget(usd=5, tokens=900)) == (
        "100/900 tokens (50% cached), $1.50 of $5.00, 2 retries"
    )


def test_a_retry_is_announced() -> None:
    """A failed request has a line that announces the retry."""
    failed = RequestFailed(message="the model m cannot be reached", booked=Usage())
    assert work_line(failed, AttemptState()) == (
        "the model m cannot be reached; the request will be retried"
    )


def test_what_an_attempt_is_doing_follows_its_calls_and_cells() -> None:
    """The activity follows from the log: waiting, calling, retrying, running a cell, reading."""
    usage, state = Usage(), AttemptState()
    assert _activity(state) == "waiting"
    steps = [
        ("calling m", CallSent(ordinal=0, fingerprint="f", role="r", model="m", bound=usage)),
        ("retrying m", RequestFailed(message="busy", booked=usage)),
        ("waiting", CallAnswered(ordinal=0, reply=ModelReply(text="", model="m"))),
        ("Fit a tree.", CellStarted(ordinal=1, step=1, goal="Fit a tree.\nRest.", code="fit()")),
        ("Fit a tree.", MonitorAsked(seconds=1, evidence=(), fingerprint="e", model="s", bound=usage)),
        ("Fit a tree.", MonitorHeard(seconds=2)),
        ("reading the result", CellEnded(ordinal=1, result=CellResult(status=CellStatus.OK))),
    ]
    for record, (doing, _) in zip(records_of(*(event for _, event in steps)), steps, strict=True):
        state = WORK_LOG.apply(state, record)
        assert _activity(state) == doing


def test_a_split_that_is_easier_than_test_is_warned_of() -> None:
    """The split's first warning has a line; the others are counted."""

    def told(*warnings: str) -> list[str]:
        record: Record[CampaignEvent] = Record(
            seq=1, at=datetime.now(UTC), elapsed=0.0, event=split_made(warnings=warnings)
        )
        return campaign_line(record.event).splitlines()

    split = "split demo-1: 3 rows sealed, metric accuracy; random: for a test"
    assert told() == [split]
    assert told("too easy") == [split, "WARNING: too easy"]
    assert told("too easy", "again") == [split, "WARNING: too easy (and 1 more)"]


def test_a_thought_ends_with_how_much_it_found() -> None:
    """The line of a finished thought counts its non-empty lists by name."""
    found = Payload({"ideas": [{}, {}], "brainstormed": ["a"], "skipped": [], "refused": ""})
    assert outcome_text(ThinkOutcome(result=found)) == "done, ideas: 2, brainstormed: 1"
    assert outcome_text(ThinkOutcome()) == "done"
    failure = Failure(cause="reply", message="no JSON")
    assert outcome_text(ThinkOutcome(failure=failure)) == "failed (reply): no JSON"


def test_a_sparkline_rises_with_the_score() -> None:
    """The lowest value is the lowest bar, the greatest the highest; one value alone says nothing."""
    assert sparkline([0.1, 0.5, 0.5, 0.9]) == "▁▅▅█"
    assert sparkline([2.0, 2.0]) == "▁▁"
    assert sparkline([1.0]) == sparkline([]) == ""
    assert len(sparkline([float(n) for n in range(100)])) == 40


def test_the_table_has_steps_time_and_cost_of_each_attempt() -> None:
    """Its footer begins with the best score so far, after each scored attempt."""
    first, second = scored(0.7), scored(0.8)
    state = state_of(*baseline(first), *attempt(1, code(), second))
    works = {name: AttemptState(best_score=score(0.8)) for name in ("attempt-000", "attempt-001")}
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(live_table(CampaignView(state, works)))
    text = console.export_text()
    assert "attempt  " in text.splitlines()[0]
    assert "time   cost" in text.splitlines()[0]
    assert "▁█ best accuracy 0.8" in text


@pytest.mark.parametrize("columns", [40, 60, 80, 100])
def test_a_narrow_table_keeps_what_identifies_and_counts(columns: int) -> None:
    """Ids, steps, times and costs are whole on any terminal; texts share what is left."""
    failure = Failure(cause=FailureCause.CODE, message="the target is missing in " * 9)
    state = state_of(*baseline(scored(0.7)), *attempt(1, code(), CodeOutcome(failure=failure)))
    works = {name: AttemptState(best_score=score(0.8)) for name in ("attempt-000", "attempt-001")}
    console = Console(width=columns, record=True, file=io.StringIO())
    console.print(
        live_table(CampaignView(state, works), columns, "creating MLflow's tables: 3 of 67  00:02")
    )
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= columns
    for row, name in zip(lines[1:3], ("attempt-000", "attempt-001"), strict=True):
        assert row.startswith(f"{name}  ")
        assert "  00:00  $0.00" in row
        assert "0/" in row
        assert ("failed (co" in row or "done" in row) == (columns > 40)
    assert "creating MLflow's tables: 3 of 67  00:02" in lines[-1] or columns == 40
