"""The campaign's purse, and the meter that pays from it: limits hold whatever runs at once."""

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from comind.campaign.attempt import TryFailed
from comind.campaign.signals import BudgetOver, TimeOver
from comind.domain.spend import Budget, Spend
from comind.errors import ModelBusyError, ModelRefusedError, ReplyError
from comind.llm.base import ChatModel, Embedded, Embedder, ModelReply, ModelRequest, Usage
from comind.llm.fitting import prompt_tokens
from comind.llm.gate import Gate, own_fault
from comind.llm.tokens import count_tokens

__all__ = ["Meter", "MeteredEmbedder", "MeteredModel", "Purse"]

T = TypeVar("T", ModelReply, Embedded)


class Purse:
    """Tokens and money of one campaign; a try reserves its worst case and settles for what it took.

    The last share of both is kept back for calls that bring work to its end. Time is not kept here:
    work carries its own deadline.
    """

    def __init__(self, budget: Budget, spent: Spend) -> None:
        self._budget = budget
        self._spent = Usage(prompt_tokens=spent.tokens, usd=spent.usd)
        self._held = Usage()
        self._settled = threading.Condition()

    @property
    def spent(self) -> Usage:
        """What is spent for good, with all tokens as prompt tokens."""
        return self._spent

    @contextmanager
    def reserve(self, bound: Usage, *, closing: bool = False) -> Iterator["Reservation"]:
        """Hold `bound` for one try; without a settlement it counts as spent.

        While only what others hold is in the way, it waits for them.

        Args:
            bound: the most that the try can take.
            closing: whether it may be paid from the share that is kept back.

        Raises:
            BudgetOver: the try could exceed the budget.
        """
        with self._settled:
            while (over := self._over(_sum(self._held, bound), closing=closing)) is not None:
                if self._over(bound, closing=closing) is not None:
                    raise BudgetOver(over)
                self._settled.wait()
            self._held = _sum(self._held, bound)
        reservation = Reservation()
        try:
            yield reservation
        finally:
            with self._settled:
                self._held = _sum(self._held, bound, sign=-1)
                self._spent = _sum(
                    self._spent, bound if reservation.actual is None else reservation.actual
                )
                self._settled.notify_all()

    def _over(self, more: Usage, *, closing: bool) -> str | None:
        """Return in words which limit `more` would exceed, if any."""
        limits, spent = self._budget, self._spent
        tokens = limits.tokens if closing else limits.open_tokens
        usd = limits.usd if closing else limits.open_usd
        if tokens is not None and spent.tokens + more.tokens > tokens:
            return f"{spent.tokens} of {limits.tokens} tokens are used up"
        if usd is not None and spent.usd + more.usd > usd:
            return f"{spent.usd:.4f} of {limits.usd} dollars are used up"
        return None


class Reservation:
    """What is held for one try."""

    actual: Usage | None = None

    def settle(self, actual: Usage) -> None:
        """Say what the try really took."""
        self.actual = actual


def _sum(one: Usage, other: Usage, sign: int = 1) -> Usage:
    """Return tokens and dollars together; rounded so that what is taken back leaves nothing."""
    return Usage(
        prompt_tokens=one.tokens + sign * other.tokens,
        usd=max(0.0, round(one.usd + sign * other.usd, 12)),
    )


class Meter:
    """Asks the gate for leave and the purse for money, and tries again what may succeed."""

    def __init__(
        self,
        purse: Purse,
        gate: Gate,
        *,
        note: Callable[[TryFailed], None] | None = None,
        seconds_left: Callable[[], float] = lambda: math.inf,
    ) -> None:
        """Stand before a model.

        Args:
            purse: pays for each try.
            gate: lets it pass.
            note: records a try that failed; without it, nothing is tried twice.
            seconds_left: how long an answer is of any use.
        """
        self._purse = purse
        self._gate = gate
        self._note = note
        self._seconds_left = seconds_left

    def call(
        self, model: str, attempt: Callable[[], T], bound: Usage, about: int, *, closing: bool = False
    ) -> T:
        """Return what came of a call, tried again as long as that makes sense.

        Args:
            model: who is asked.
            attempt: makes one try.
            bound: the most that it can take.
            about: how many tokens it may well take.
            closing: whether it may be paid from the share that is kept back.

        Raises:
            BudgetOver: the next try could exceed the budget.
            TimeOver: the endpoint is not well before the work's time is over.
            ModelServiceError: the endpoint refuses, or is gone.
            ReplyError: this very request cannot be answered.
        """
        failures, answered, not_before = 0, self._gate.successes, -math.inf
        while True:
            if not self._gate.enter(
                model, about, not_before=not_before, seconds_left=self._seconds_left()
            ):
                raise TimeOver(f"the model {model} was not to be had while there was time")
            try:
                return self._try(model, attempt, bound, closing=closing)
            except ModelBusyError as error:
                failures += 1
                try:
                    if self._note is not None:
                        booked = bound if error.billed else Usage()
                        self._note(TryFailed(message=str(error), booked=booked))
                finally:
                    not_before = self._gate.failed(error, failures)
                if self._note is None:
                    raise
                if own_fault(failures, self._gate.successes - answered):
                    raise ReplyError(f"{error}, {failures} times, while others were answered") from None

    def _try(self, model: str, attempt: Callable[[], T], bound: Usage, *, closing: bool) -> T:
        """Make one try; tell the gate of every end but a failure that may be tried again."""
        try:
            with self._purse.reserve(bound, closing=closing) as reservation:
                try:
                    came = attempt()
                except Exception as error:
                    if not (isinstance(error, ModelBusyError) and error.billed):
                        reservation.settle(Usage())  # refused before any work was done
                    raise
                reservation.settle(came.usage)
        except ModelBusyError:
            raise
        except ModelRefusedError as error:
            self._gate.refused(model, error)
            raise
        except BaseException:
            self._gate.left()
            raise
        self._gate.succeeded()
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
        attempt = partial(self._model.complete, request)
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
