"""The ledger keeps its limits under concurrency; the metered model charges every request."""

import json
import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.campaign.log.campaign_settings import Monitoring
from comind.campaign.log.outcome import BudgetExceeded, DeadlineExceeded
from comind.campaign.log.work_events import MonitorHeard, RequestFailed, WorkEvent
from comind.campaign.work.metering import BudgetLedger, Meter, MeteredModel
from comind.campaign.work.monitor import CellMonitor, MonitorSettings
from comind.domain.spend import Budget, Spend
from comind.errors import ModelBusyError, ModelRefusedError, ReplyError
from comind.llm.model_ports import ModelReply, ModelRequest, Usage
from comind.llm.rate_limiter import RateLimiter
from comind.llm.settings import Traffic
from comind.testing import ScriptedModel
from tests.doubles.clock import QuickClock
from tests.unit.campaign.world import run_inline

REQUEST = ModelRequest(role="x", messages=(), reply_name="X", reply_schema={})
BOUND = Usage(prompt_tokens=60, completion_tokens=40, usd=1.0)


class Erring(ScriptedModel):
    """Raises the scripted errors, then replies."""

    def __init__(self, *errors: Exception | None) -> None:
        super().__init__(lambda request: "{}", usage=BOUND)
        self._errors = iter(errors)

    def complete(self, request: ModelRequest) -> ModelReply:
        """Raise the next error, if there is one."""
        error = next(self._errors, None)
        if error is not None:
            self.requests.append(request)
            raise error
        return super().complete(request)


def _metered(
    model: ScriptedModel, *, seconds_left: float = 1e9, usd: float | None = None, **traffic: float
) -> tuple[MeteredModel, BudgetLedger, list[RequestFailed]]:
    ledger, noted = BudgetLedger(Budget(usd=usd, closing_share=0), Spend()), []
    limiter = RateLimiter(Traffic.model_validate(traffic), clock=QuickClock(), jitter=lambda: 1.0)
    metered = MeteredModel(
        model, Meter(ledger, limiter, note=noted.append, seconds_left=lambda: seconds_left)
    )
    return metered, ledger, noted


Calls = st.lists(
    st.tuples(st.integers(1, 50), st.floats(0, 1), st.sampled_from(["settled", "lost"]), st.booleans()),
    max_size=40,
)


@given(Calls, st.integers(0, 400), st.floats(0, 0.5), st.integers(0, 2**32))
def test_no_limit_is_passed_whatever_runs_at_once(
    calls: list[tuple[int, float, str, bool]], limit: int, share: float, seed: int
) -> None:
    """With true bounds the limit holds to the token; only closing calls may use the reserved share."""
    ledger = BudgetLedger(Budget(tokens=limit, usd=limit / 10, closing_share=share), Spend())
    draw, passed = random.Random(seed), []

    def call(bound: int, part: float, end: str, closing: bool) -> None:
        most = Usage(prompt_tokens=bound, usd=bound / 10)
        try:
            with ledger.reserve(most, closing=closing) as reservation:
                if draw.random() < 0.5:
                    threading.Event().wait(0.0001)
                if end == "settled":
                    actual = int(bound * part)
                    reservation.actual = Usage(prompt_tokens=actual, usd=actual / 10)
        except BudgetExceeded:
            return
        passed.append((closing, bound))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda one: call(*one), calls))
    assert ledger.spent.tokens <= limit
    assert ledger.spent.usd <= limit / 10 + 1e-9
    if not any(closing for closing, _ in passed):
        assert ledger.spent.tokens <= (1 - share) * limit


def test_what_others_hold_is_waited_for() -> None:
    """A call that fits once other reservations are settled waits for them instead of failing."""
    ledger = BudgetLedger(Budget(tokens=100, closing_share=0), Spend())
    waiting, made = threading.Event(), threading.Event()

    def other() -> None:
        waiting.set()
        with ledger.reserve(Usage(prompt_tokens=60)) as reservation:
            reservation.actual = Usage(prompt_tokens=5)
        made.set()

    with ledger.reserve(Usage(prompt_tokens=60)) as reservation:
        thread = threading.Thread(target=other)
        thread.start()
        assert waiting.wait(10)
        assert not made.wait(0.05)
        reservation.actual = Usage(prompt_tokens=10)
    assert made.wait(10)
    thread.join()
    assert ledger.spent.tokens == 15


def test_what_others_hold_is_waited_for_until_the_deadline() -> None:
    """A call whose time is over while other reservations of its campaign prevent it ends then."""
    ledger, left = BudgetLedger(Budget(usd=1.0, closing_share=0), Spend()), [0.01, 0.0]
    with ledger.reserve(Usage(usd=0.9)) as held:
        waiting = ledger.reserve(Usage(usd=0.5), seconds_left=lambda: left.pop(0))
        with pytest.raises(DeadlineExceeded, match="other requests of the campaign"), waiting:
            pass
        held.actual = Usage()
    assert ledger.spent.usd == 0


def test_the_last_share_is_for_endings() -> None:
    """Only closing calls may use the reserved share of the budget."""
    ledger = BudgetLedger(Budget(tokens=100, closing_share=0.3), Spend(prompt_tokens=60))
    with pytest.raises(BudgetExceeded, match="60 of 100 tokens are used up"), ledger.reserve(BOUND):
        pass
    with ledger.reserve(Usage(prompt_tokens=40), closing=True):
        pass
    assert ledger.spent.tokens == 100


def test_a_failed_request_is_charged_and_retried() -> None:
    """A failed request is charged at its bound if it may have been billed, else nothing."""
    model = Erring(ModelBusyError("reset"), ModelBusyError("429", billed=False), None)
    metered, ledger, noted = _metered(model)
    assert metered.complete(REQUEST).text == "{}"
    assert [each.booked.tokens for each in noted] == [100, 0]
    assert ledger.spent.tokens == 200
    assert ledger.spent.usd == 2.0


def test_no_retry_exceeds_the_budget() -> None:
    """Each retry reserves its own bound, so retries end with the budget."""
    model = Erring(*[ModelBusyError("reset")] * 9)
    metered, ledger, noted = _metered(model, usd=3.5)
    with pytest.raises(BudgetExceeded):
        metered.complete(REQUEST)
    assert (len(noted), ledger.spent.usd) == (3, 3.0)


def test_a_refusal_costs_one_call_and_nothing_else() -> None:
    """A refused key fails all later calls without another request."""
    model = Erring(ModelRefusedError("wrong key"))
    metered, ledger, _ = _metered(model)
    for _ in range(3):
        with pytest.raises(ModelRefusedError):
            metered.complete(REQUEST)
    assert len(model.requests) == 1
    assert ledger.spent.tokens == 0


def test_a_refusal_of_one_request_ends_its_work_alone() -> None:
    """Where others were answered, a request that is refused as invalid is no fault of the endpoint."""
    refused = ModelRefusedError("failed: 400 no", one_request=True)
    metered, ledger, _ = _metered(Erring(None, refused, None, refused))
    metered.complete(REQUEST)
    spent = ledger.spent
    with pytest.raises(ReplyError, match="failed: 400 no, while others were answered"):
        metered.complete(REQUEST)
    assert ledger.spent == spent
    metered.complete(REQUEST)


def test_waiting_ends_with_the_works_time() -> None:
    """An endpoint that is down beyond the deadline ends the work, not the campaign."""
    metered, _, noted = _metered(Erring(*[ModelBusyError("down")] * 99), seconds_left=40)
    with pytest.raises(DeadlineExceeded):
        metered.complete(REQUEST)
    assert len(noted) < 9


class Slow(ScriptedModel):
    """Blocks beyond the caller's timeout."""

    def __init__(self, left: list[float]) -> None:
        super().__init__(lambda request: "{}", usage=BOUND)
        self._left = left

    def complete(self, request: ModelRequest) -> ModelReply:
        """Give up at the timeout of the request."""
        self.requests.append(request)
        self._left.append(self._left[-1] - (request.timeout_seconds or 0.0))
        raise ModelBusyError("it gave no whole answer in time")


def test_the_timeout_of_a_call_is_the_deadline_of_its_work() -> None:
    """A call's timeout is its work's deadline, and the limiter counts no failure for it."""
    left, noted, limiter = [42.0], [], RateLimiter(clock=QuickClock())  # type: ignore[var-annotated]
    meter = Meter(
        BudgetLedger(Budget(), Spend()), limiter, note=noted.append, seconds_left=lambda: left[-1]
    )
    model = Slow(left)
    with pytest.raises(DeadlineExceeded, match="did not answer before the deadline"):
        MeteredModel(model, meter).complete(REQUEST)
    assert [request.timeout_seconds for request in model.requests] == [42.0]
    assert [each.booked for each in noted] == [BOUND], "it may have been answered all the same"
    assert limiter.retries == 0
    assert REQUEST.fingerprint() == model.requests[0].fingerprint()


class OthersAnswered(RateLimiter):
    """Succeeds for another call whenever a call fails."""

    @contextmanager
    def admit(self, *args: Any, **options: Any) -> Iterator[Any]:
        """Count the other one's success."""
        try:
            with super().admit(*args, **options) as call:
                yield call
        except ModelBusyError:
            self.successes += 1
            raise


def test_a_request_that_alone_fails_is_given_up() -> None:
    """After six failures of one call, while others succeed, the request is at fault."""
    noted: list[RequestFailed] = []
    model = Erring(*[ModelBusyError("500")] * 99)
    limiter = OthersAnswered(clock=QuickClock())
    metered = MeteredModel(model, Meter(BudgetLedger(Budget(), Spend()), limiter, note=noted.append))
    with pytest.raises(ReplyError, match="6 times, while others were answered"):
        metered.complete(REQUEST)
    assert len(noted) == 6


def test_a_request_is_retried_while_no_other_succeeds() -> None:
    """While no other call succeeds, a failing call is retried."""
    metered, _, noted = _metered(Erring(*[ModelBusyError("500", billed=False)] * 9, None))
    assert metered.complete(REQUEST).text == "{}"
    assert len(noted) == 9


def test_a_lost_request_of_the_monitor_is_not_retried() -> None:
    """Without a recorder for failures, a call is not retried."""
    model = Erring(ModelBusyError("reset"))
    metered = MeteredModel(
        model, Meter(BudgetLedger(Budget(), Spend()), RateLimiter(clock=QuickClock()))
    )
    with pytest.raises(ModelBusyError):
        metered.complete(REQUEST)
    assert json.loads(metered.complete(REQUEST).text) == {}


def test_a_question_without_an_answer_at_the_deadline_is_recorded_as_it_is_charged() -> None:
    """The monitor records a request that may have been billed as lost, as the ledger charges it."""
    for billed, charged in ((True, BOUND.tokens), (False, 0)):
        ledger = BudgetLedger(Budget(), Spend())
        meter = Meter(ledger, RateLimiter(clock=QuickClock()), seconds_left=lambda: 0.5)
        metered = MeteredModel(Erring(ModelBusyError("too late", billed=billed)), meter)
        events: list[WorkEvent] = []
        watch = CellMonitor(
            metered,
            events.append,
            MonitorSettings(Monitoring(ask_seconds=20), start=run_inline),
            "g",
            "fit()",
            99.0,
        )
        for seconds in (20.0, 60.0, 61.0):
            watch.look("epoch 1\n", seconds)
        heard = [event for event in events if isinstance(event, MonitorHeard)]
        assert [each.lost for each in heard] == [billed]
        assert ledger.spent.tokens == charged


@given(
    spent=st.floats(0, 1e4), more=st.floats(0.01, 100), share=st.floats(0, 0.9), many=st.integers(0, 9)
)
def test_what_is_added_to_a_budget_is_open_whatever_was_spent(
    spent: float, more: float, share: float, many: int
) -> None:
    """The reserved share is computed from the added budget, so slices keep their own reserve."""
    raised = Budget(
        usd=spent + more,
        usd_before=spent,
        tokens=100 * many + 100,
        tokens_before=100 * many,
        closing_share=share,
    )
    assert raised.open_usd is not None
    assert raised.open_tokens is not None
    assert raised.open_usd - spent == pytest.approx((1 - share) * more, abs=1e-6)
    assert raised.open_tokens - 100 * many == pytest.approx((1 - share) * 100)
    plain = Budget(usd=more, closing_share=share)
    assert plain.open_usd == pytest.approx((1 - share) * more)
    assert Budget().open_usd is None
