"""Reserve budget for model requests, rate-limit and retry them; hard limits hold under concurrency."""

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from comind.campaign.log.campaign_events import CampaignEnded
from comind.campaign.log.campaign_folders import CampaignFolder, ProjectFolder
from comind.campaign.log.outcome import BudgetExceeded, DeadlineExceeded
from comind.campaign.log.work_events import RequestFailed
from comind.campaign.work.evaluations import Evaluations
from comind.campaign.work.project_budget import (
    CampaignAccount,
    ProjectBudget,
    owed_by_logs,
)
from comind.domain.spend import Budget, Spend
from comind.errors import ModelBusyError, ModelRefusedError, ReplyError
from comind.llm.context_window import prompt_tokens
from comind.llm.forwarding import Forwarded
from comind.llm.model_ports import ChatModel, Embedded, Embedder, ModelReply, ModelRequest, Usage
from comind.llm.rate_limiter import AdmissionTimeoutError, RateLimiter
from comind.llm.tokens import count_tokens

T = TypeVar("T", ModelReply, Embedded, Forwarded)

_USD_DIGITS = 12  # a sum of prices that equals the limit does not exceed it
_LEAST_SECONDS = 1.0  # with less time left there is no retry
_LOOK_SECONDS = 1.0  # between two looks at the deadline while others hold the budget
_MOST_FAILURES = 6  # of one call while others succeed; then the request itself is at fault


class BudgetLedger:
    """Budget of one campaign; each request reserves its worst case in tokens and dollars, then settles.

    The last share of both is reserved for calls that close work. Deadlines are kept by the work itself.
    With an `account`, requests with a price are reserved under the project's limit as well.
    Thread-safe.
    """

    def __init__(self, budget: Budget, spent: Spend, account: CampaignAccount | None = None) -> None:
        self._budget = budget
        self._account = account
        self.spent = Usage(prompt_tokens=spent.tokens, usd=spent.usd)
        """Settled usage; all tokens of `spent` as prompt tokens."""
        self.evaluations = Evaluations(budget.evaluations, spent.evaluations)
        self.calls = spent.calls
        """Requests that were answered, or may have been."""
        self._held: list[Usage] = []
        self._settled = threading.Condition()

    def limit_reached(self) -> CampaignEnded | None:
        """Return the end of a campaign without evaluations, or that the project's limit ended."""
        if over := self.evaluations.over:
            return CampaignEnded(reason="budget", detail=over)
        refused = self._account.refused if self._account is not None else None
        if refused is None:
            return None
        return CampaignEnded(reason="budget", detail=str(refused), project_usd=refused.costs.limit)

    @contextmanager
    def reserve(
        self,
        bound: Usage,
        *,
        closing: bool = False,
        seconds_left: Callable[[], float] = lambda: math.inf,
    ) -> Iterator["Reservation"]:
        """Reserve `bound` for one request; charged in full unless `Reservation.actual` is set.

        Blocks while only the reservations of others prevent it, until `seconds_left` returns none. A
        `closing` request may use the reserved share.

        Raises:
            BudgetExceeded: the request could exceed the budget, or the project's limit.
            DeadlineExceeded: other requests hold the rest of one of them until the deadline.
        """
        with self._settled:
            while (over := self._over(sum(self._held, bound), closing=closing)) is not None:
                if self._over(bound, closing=closing) is not None:
                    raise BudgetExceeded(over)
                left = seconds_left()
                if left <= 0:
                    raise DeadlineExceeded("other requests of the campaign hold the rest of its budget")
                self._settled.wait(min(left, _LOOK_SECONDS))
            self._held.append(bound)
        reservation = Reservation(actual=Usage())
        try:
            with self._of_project(bound, reservation, closing=closing, seconds_left=seconds_left):
                reservation.actual = None
                yield reservation
        finally:
            with self._settled:
                self._held.remove(bound)
                self.spent += bound if reservation.actual is None else reservation.actual
                self.calls += reservation.actual != Usage()
                self._settled.notify_all()

    @contextmanager
    def _of_project(
        self,
        bound: Usage,
        reservation: "Reservation",
        *,
        closing: bool,
        seconds_left: Callable[[], float],
    ) -> Iterator[None]:
        """Reserve `bound` under the project's limit for the block; then charge the actual cost."""
        if self._account is None or bound.usd == 0:
            yield
            return
        number = self._account.reserve(bound.usd, closing=closing, seconds_left=seconds_left)
        try:
            yield
        finally:
            charged = bound if reservation.actual is None else reservation.actual
            self._account.settle(number, charged.usd)

    def _over(self, more: Usage, *, closing: bool) -> str | None:
        """Return the limit that `more` would exceed, as a message; None if none."""
        limits, spent, total = self._budget, self.spent, self.spent + more
        tokens = limits.tokens if closing else limits.open_tokens
        usd = limits.usd if closing else limits.open_usd
        if tokens is not None and total.tokens > tokens:
            return f"{spent.tokens} of {limits.tokens} tokens are used up"
        if usd is not None and round(total.usd, _USD_DIGITS) > usd:
            return f"{spent.usd:.4f} of {limits.usd} dollars are used up"
        return None


def ledger_of(project: ProjectFolder, campaign: CampaignFolder, budget: Budget) -> BudgetLedger:
    """Return a ledger of `budget`, charged with the usage in the logs of all the campaign's work.

    Its requests count towards the project's limit.
    """
    owed = owed_by_logs(campaign)
    account = CampaignAccount(ProjectBudget(project), campaign.name, owed.usd, budget.closing_share)
    return BudgetLedger(budget, owed, account)


@dataclass(slots=True)
class Reservation:
    """Budget reserved for one request."""

    actual: Usage | None = None
    """Usage of the request, once it is known."""


@dataclass(frozen=True, slots=True)
class Meter:
    """Sends requests under a rate limiter and a budget ledger, with retries."""

    ledger: BudgetLedger
    limiter: RateLimiter
    note: Callable[[RequestFailed], None] | None = None
    """Records a failed request; None disables retries."""
    seconds_left: Callable[[], float] = lambda: math.inf
    """Returns the seconds until the deadline."""

    def call(
        self,
        model: str,
        attempt: Callable[[], T],
        bound: Usage,
        expected_tokens: int,
        *,
        closing: bool = False,
    ) -> T:
        """Return the result of `attempt`, which sends one request to `model`; retry with backoff.

        One request takes about `expected_tokens`, and at most `bound`.

        Raises:
            BudgetExceeded: the next request could exceed the budget.
            DeadlineExceeded: the deadline passes before the endpoint recovers or answers.
            ModelServiceError: the endpoint refuses, or is gone.
            ReplyError: this request failed six times while others succeeded, or it alone is refused.
        """
        failures, retry_at, answered = 0, -math.inf, self.limiter.successes
        while True:
            try:
                left = self.seconds_left()
                with self.limiter.admit(
                    model, expected_tokens, failures=failures, not_before=retry_at, seconds_left=left
                ) as admitted:
                    return self._request(model, attempt, bound, closing=closing)
            except AdmissionTimeoutError:
                raise DeadlineExceeded(
                    f"the model {model} was not available before the deadline"
                ) from None
            except ModelBusyError as error:
                if self.note is None:
                    raise
                failures, retry_at = failures + 1, admitted.retry_at
                if failures >= _MOST_FAILURES and self.limiter.successes > answered:
                    raise ReplyError(f"{error}, {failures} times, while others were answered") from None

    def _request(self, model: str, attempt: Callable[[], T], bound: Usage, *, closing: bool) -> T:
        """Reserve the bound, make one request, settle; record a failure before it is retried."""
        try:
            with self.ledger.reserve(
                bound, closing=closing, seconds_left=self.seconds_left
            ) as reservation:
                try:
                    result = attempt()
                except Exception as error:
                    if not (isinstance(error, ModelBusyError) and error.billed):
                        reservation.actual = Usage()  # refused before any work was done
                    raise
                reservation.actual = result.usage
        except ModelBusyError as error:
            over = self.seconds_left() < _LEAST_SECONDS  # perhaps our own timeout ended it
            if self.note is not None:
                booked = bound if error.billed else Usage()
                self.note(RequestFailed(message=str(error), booked=booked))
            if over and self.note is not None:  # else the caller records whether it may have been billed
                raise DeadlineExceeded(f"the model {model} did not answer before the deadline") from None
            raise
        except ModelRefusedError as error:
            if error.one_request and self.limiter.successes:
                raise ReplyError(f"{error}, while others were answered") from None
            raise
        return result


class MeteredModel:
    """A chat model with metered requests."""

    def __init__(self, model: ChatModel, meter: Meter) -> None:
        self._model = model
        self._meter = meter
        self.name = model.name
        self.context_tokens = model.context_tokens
        self.reply_tokens = model.reply_tokens
        self.takes_images = model.takes_images

    def bound(self, request: ModelRequest) -> Usage:
        """Return the worst-case usage of one request."""
        return self._model.bound(request)

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return the reply to `request`; raises as `Meter.call` does."""
        bound = request.bound or self._model.bound(request)
        request = request.within(bound)
        about = prompt_tokens(request.messages) + request.max_tokens

        def attempt() -> ModelReply:
            left = self._meter.seconds_left()
            timed = {"timeout_seconds": max(_LEAST_SECONDS, left) if math.isfinite(left) else None}
            return self._model.complete(request.model_copy(update=timed))

        return self._meter.call(self.name, attempt, bound, about, closing=request.closing)


class MeteredEmbedder:
    """An embedder with metered requests."""

    def __init__(self, embedder: Embedder, meter: Meter) -> None:
        self._embedder = embedder
        self._meter = meter
        self.name = embedder.name

    def bound(self, texts: Sequence[str]) -> Usage:
        """Return the worst-case usage of one request."""
        return self._embedder.bound(texts)

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Return an embedding for each text; raises as `Meter.call` does."""
        bound, about = self.bound(texts), sum(map(count_tokens, texts))
        # The limiter keeps refusals by name, and a server may use one name for chat and embeddings.
        name = f"{self.name} (embeddings)"
        return self._meter.call(name, partial(self._embedder.embed, texts), bound, about)
