"""The campaign's purse: what may still be spent, shared by everything that runs at once."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from comind.campaign.signals import BudgetOver
from comind.domain.spend import Budget, Spend
from comind.llm.base import ChatModel, ModelReply, ModelRequest, Usage

__all__ = ["MeteredModel", "Purse"]


class Purse:
    """Tokens and money of one campaign; a call reserves its worst case and settles for what it took.

    Time is not kept here: work carries its own deadline.
    """

    def __init__(self, budget: Budget, spent: Spend) -> None:
        self._budget = budget
        self._tokens = spent.tokens
        self._usd = spent.usd
        self._lock = threading.Lock()

    @contextmanager
    def reserve(self, bound: Usage) -> Iterator["Reservation"]:
        """Hold `bound` for one call; without a settlement it counts as spent.

        Raises:
            BudgetOver: the call could exceed the budget.
        """
        tokens, usd = bound.prompt_tokens + bound.completion_tokens, bound.usd
        with self._lock:
            if _exceeds(self._tokens + tokens, self._budget.tokens):
                raise BudgetOver(f"{self._tokens} of {self._budget.tokens} tokens are used up")
            if _exceeds(self._usd + usd, self._budget.usd):
                raise BudgetOver(f"{self._usd:.4f} of {self._budget.usd} dollars are used up")
            self._tokens += tokens
            self._usd += usd
        reservation = Reservation()
        try:
            yield reservation
        finally:
            if reservation.actual is not None:
                actual = reservation.actual
                with self._lock:
                    self._tokens += actual.prompt_tokens + actual.completion_tokens - tokens
                    self._usd += actual.usd - usd


class Reservation:
    """What is held for one call."""

    actual: Usage | None = None

    def settle(self, actual: Usage) -> None:
        """Say what the call really took."""
        self.actual = actual


def _exceeds(amount: float, limit: float | None) -> bool:
    return limit is not None and amount > limit


class MeteredModel:
    """A model that asks the purse first."""

    def __init__(self, model: ChatModel, purse: Purse) -> None:
        self._model = model
        self._purse = purse
        self.name = model.name

    def bound(self, request: ModelRequest) -> Usage:
        """Return the most that answering `request` can cost."""
        return self._model.bound(request)

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return the reply to `request` if the budget allows it.

        Raises:
            BudgetOver: the call could exceed the budget.
        """
        with self._purse.reserve(self._model.bound(request)) as reservation:
            reply = self._model.complete(request)
            reservation.settle(reply.usage)
        return reply
