"""The campaign's purse, and the meter that pays from it: limits hold whatever runs at once."""

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from comind.campaign.attempt import WORK_EVENTS, RequestFailed
from comind.campaign.folder import CampaignFolder
from comind.campaign.history import fold
from comind.campaign.outcome import BudgetExceeded, DeadlineExceeded
from comind.domain.spend import Budget, Spend
from comind.errors import ModelBusyError, ModelRefusedError, ReplyError
from comind.eventlog.log import read_log
from comind.llm.base import ChatModel, Embedded, Embedder, ModelReply, ModelRequest, Usage
from comind.llm.fitting import prompt_tokens
from comind.llm.rate_limiter import RateLimiter
from comind.llm.tokens import count_tokens

__all__ = ["BudgetLedger", "Meter", "MeteredEmbedder", "MeteredModel", "ledger_of"]

T = TypeVar("T", ModelReply, Embedded)

_LEAST_SECONDS = 1.0  # with less left a call is given up
_CALLS_OF_ITS_OWN = 6  # failures of one call while others succeed, after which it is the call's fault


class BudgetLedger:
    """Tokens and money of one campaign; a try reserves its worst case and settles for what it took.

    The last share of both is kept back for calls that bring work to its end. Time is not kept here:
    work carries its own deadline.
    """

    def __init__(self, budget: Budget, spent: Spend) -> None:
        self._budget = budget
        self.spent = Usage(prompt_tokens=spent.tokens, usd=spent.usd)
        """What is spent for good, with all tokens as prompt tokens."""
        self._held = Usage()
        self._settled = threading.Condition()

    @contextmanager
    def reserve(self, bound: Usage, *, closing: bool = False) -> Iterator["Reservation"]:
        """Hold `bound` for one try; without a settlement it counts as spent.

        While only what others hold is in the way, it waits for them. A `closing` try may be paid from
        the share that is kept back.

        Raises:
            BudgetExceeded: the try could exceed the budget.
        """
        with self._settled:
            while (over := self._over(_sum(self._held, bound), closing=closing)) is not None:
                if self._over(bound, closing=closing) is not None:
                    raise BudgetExceeded(over)
                self._settled.wait()
            self._held = _sum(self._held, bound)
        reservation = Reservation()
        try:
            yield reservation
        finally:
            with self._settled:
                self._held = _sum(self._held, bound, sign=-1)
                took = bound if reservation.actual is None else reservation.actual
                self.spent = _sum(self.spent, took)
                self._settled.notify_all()

    def _over(self, more: Usage, *, closing: bool) -> str | None:
        """Return in words which limit `more` would exceed, if any."""
        limits, spent = self._budget, self.spent
        tokens = limits.tokens if closing else limits.open_tokens
        usd = limits.usd if closing else limits.open_usd
        if tokens is not None and spent.tokens + more.tokens > tokens:
            return f"{spent.tokens} of {limits.tokens} tokens are used up"
        if usd is not None and spent.usd + more.usd > usd:
            return f"{spent.usd:.4f} of {limits.usd} dollars are used up"
        return None


def ledger_of(campaign: CampaignFolder, budget: Budget) -> BudgetLedger:
    """Return a purse with what the logs of all the campaign's work leave of `budget`."""
    works = (fold(read_log(log, WORK_EVENTS)) for log in campaign.logs())
    return BudgetLedger(budget, sum((work.owed for work in works), Spend()))


@dataclass(slots=True)
class Reservation:
    """What is held for one try."""

    actual: Usage | None = None
    """What the try really took, once that is known."""


def _sum(one: Usage, other: Usage, sign: int = 1) -> Usage:
    """Return tokens and dollars together; rounded so that what is taken back leaves nothing."""
    return Usage(
        prompt_tokens=one.tokens + sign * other.tokens,
        usd=max(0.0, round(one.usd + sign * other.usd, 12)),
    )


@dataclass(frozen=True, slots=True)
class Meter:
    """Asks the gate for leave and the purse for money, and tries again what may succeed."""

    ledger: BudgetLedger
    limiter: RateLimiter
    note: Callable[[RequestFailed], None] | None = None
    """Records a try that failed; without it, nothing is tried twice."""
    seconds_left: Callable[[], float] = lambda: math.inf
    """How long an answer is of any use."""

    def call(
        self, model: str, attempt: Callable[[], T], bound: Usage, about: int, *, closing: bool = False
    ) -> T:
        """Return what came of a call to `model`, tried again as long as that makes sense.

        One `attempt` takes `about` so many tokens, and `bound` at most.

        Raises:
            BudgetExceeded: the next try could exceed the budget.
            DeadlineExceeded: the work's time is over before the endpoint is well, or has answered.
            ModelServiceError: the endpoint refuses, or is gone.
            ReplyError: this very request cannot be answered.
        """
        failures, answered, not_before = 0, self.limiter.successes, -math.inf
        while True:
            if not self.limiter.enter(
                model, about, not_before=not_before, seconds_left=self.seconds_left()
            ):
                raise DeadlineExceeded(f"the model {model} was not to be had while there was time")
            try:
                return self._try(model, attempt, bound, closing=closing)
            except ModelBusyError as error:
                failures += 1
                over = self.seconds_left() < _LEAST_SECONDS  # perhaps it was we who waited no longer
                try:
                    if self.note is not None:
                        booked = bound if error.billed else Usage()
                        self.note(RequestFailed(message=str(error), booked=booked))
                finally:
                    if over:
                        self.limiter.left()
                    else:
                        not_before = self.limiter.failed(error, failures)
                if over:
                    raise DeadlineExceeded(
                        f"the model {model} did not answer while there was time"
                    ) from None
                if self.note is None:
                    raise
                if failures >= _CALLS_OF_ITS_OWN and self.limiter.successes > answered:
                    raise ReplyError(f"{error}, {failures} times, while others were answered") from None

    def _try(self, model: str, attempt: Callable[[], T], bound: Usage, *, closing: bool) -> T:
        """Make one try; tell the gate of every end but a failure that may be tried again."""
        try:
            with self.ledger.reserve(bound, closing=closing) as reservation:
                try:
                    came = attempt()
                except Exception as error:
                    if not (isinstance(error, ModelBusyError) and error.billed):
                        reservation.actual = Usage()  # refused before any work was done
                    raise
                reservation.actual = came.usage
        except ModelBusyError:
            raise
        except ModelRefusedError as error:
            self.limiter.refused(model, error)
            raise
        except BaseException:
            self.limiter.left()
            raise
        self.limiter.succeeded()
        return came


class MeteredModel:
    """A model whose calls pass a meter."""

    def __init__(self, model: ChatModel, meter: Meter) -> None:
        self._model = model
        self._meter = meter
        self.name = model.name
        self.context_tokens = model.context_tokens
        self.reply_tokens = model.reply_tokens

    def bound(self, request: ModelRequest) -> Usage:
        """Return the most that one try of `request` can cost."""
        return self._model.bound(request)

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return the reply to `request`; raises what the meter raises."""
        bound = self._model.bound(request)
        request = request.within(bound)
        about = prompt_tokens(request.messages) + request.max_tokens

        def attempt() -> ModelReply:
            left = self._meter.seconds_left()
            timed = {"timeout_seconds": max(_LEAST_SECONDS, left) if math.isfinite(left) else None}
            return self._model.complete(request.model_copy(update=timed))

        return self._meter.call(self.name, attempt, bound, about, closing=request.closing)


class MeteredEmbedder:
    """An embedder whose calls pass a meter."""

    def __init__(self, embedder: Embedder, meter: Meter) -> None:
        self._embedder = embedder
        self._meter = meter
        self.name = embedder.name

    def bound(self, texts: Sequence[str]) -> Usage:
        """Return the most that one try can cost."""
        return self._embedder.bound(texts)

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Return a vector for each text; raises what the meter raises."""
        bound, about = self.bound(texts), sum(map(count_tokens, texts))
        # The gate knows refusals by name, and a server may have one name for all that it does.
        name = f"{self.name} (embeddings)"
        return self._meter.call(name, partial(self._embedder.embed, texts), bound, about)
