"""Texts are ranked by embeddings, else by BM25, and each request is sent once."""

import dataclasses
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from comind.campaign.log.outcome import CodeOutcome, CodeResult, FailureCause
from comind.campaign.log.work import Code
from comind.campaign.log.work_events import WORK_EVENTS, CallAnswered, CallFailed, CallSent, WorkEvent
from comind.campaign.log.work_state import WORK_LOG
from comind.campaign.work.context import CodeContext
from comind.campaign.work.metering import BudgetLedger
from comind.campaign.work.recorder import Recorder
from comind.campaign.work.text_ranking import rank
from comind.campaign.worker import Dependencies, execute
from comind.domain.spend import Budget, Spend
from comind.errors import (
    ContextError,
    ModelBusyError,
    ModelRefusedError,
    ModelServiceError,
)
from comind.eventlog.log import EventLog, read_log
from comind.llm.model_ports import Embedded, Embedder, Message, ModelRequest, Usage
from comind.llm.openai_embedder import OpenAIEmbedder
from comind.llm.rate_limiter import RateLimiter
from comind.llm.settings import ModelSettings, Price, Traffic
from comind.testing import ScriptedEmbedder, TinyAgent
from tests.doubles.clock import QuickClock
from tests.doubles.endpoint import Endpoint
from tests.doubles.faults import Fault, status
from tests.examples import examples
from tests.unit.campaign.samples import code
from tests.unit.campaign.world import World, reply

QUERY = "boosting of the trees"
TEXTS = ("a network on pictures", "boosting trees of the trees of trees", "pots of the", "boosting")
BY_WORDS, BY_VECTORS = (1, 3), (1, 2)
CALL = Usage(prompt_tokens=10)


class Cell(BaseModel):
    code: str


class Reader(TinyAgent):
    """Ranks texts for each query, then calls the model for a cell."""

    def __init__(self, texts: Sequence[str] = TEXTS, *queries: str) -> None:
        super().__init__()
        self.texts, self.queries = texts, queries or (QUERY,)

    def code(self, work: Code, context: CodeContext) -> CodeResult:
        """Ask for one cell, with what was found before the eyes."""
        del work
        found = [context.rank(query, self.texts, top=2) for query in self.queries]
        messages = (Message(role="user", content=f"read {found}"),)
        answer = context.ask(ModelRequest(role="coding_agent", messages=messages), Cell)
        context.step("next", answer.value.code)
        return CodeResult(report=str(found[0]))


class Erring(ScriptedEmbedder):
    """Raises the scripted errors, then embeds."""

    def __init__(self, *errors: Exception | None) -> None:
        super().__init__()
        self._errors = iter(errors)

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Raise the next error, if there is one."""
        came = super().embed(texts)
        error = next(self._errors, None)
        if error is not None:
            raise error
        return came


class Bench:
    """One attempt of an agent that ranks, over one folder."""

    def __init__(self, root: Path, embedder: Embedder | None, **budget: int) -> None:
        self.world = World(root, [reply("good")] * 3)
        self.folder = self.world.folder.work("attempt-000")
        self.ledger = BudgetLedger(Budget(closing_share=0, **budget), Spend())
        self.limiter = RateLimiter(Traffic(patience_minutes=15), clock=QuickClock(), jitter=lambda: 1.0)
        self.dependencies: Dependencies = dataclasses.replace(
            self.world.dependencies(), ledger=self.ledger, limiter=self.limiter, embedder=embedder
        )

    def execute(self, agent: Reader | None = None) -> CodeOutcome:
        outcome = execute(agent or Reader(), code(steps=1), self.folder, self.dependencies)
        assert isinstance(outcome, CodeOutcome)
        return outcome

    def events(self) -> list[WorkEvent]:
        return [record.event for record in read_log(self.folder.log, WORK_EVENTS)]

    def sent(self) -> list[str]:
        return [event.model for event in self.events() if isinstance(event, CallSent)]

    def failures(self) -> list[str]:
        return [event.message for event in self.events() if isinstance(event, CallFailed)]


def test_an_embedding_model_ranks_where_there_is_one(tmp_path: Path) -> None:
    """The query and the texts are one call of its role, whose reply holds the similarities."""
    embedder = ScriptedEmbedder(usage=CALL)
    context = Bench(tmp_path, embedder)
    outcome = context.execute()
    assert outcome.report == str(BY_VECTORS)
    assert embedder.requests == [[QUERY, *TEXTS]]
    sent, answered, *_ = context.events()
    assert isinstance(sent, CallSent)
    assert isinstance(answered, CallAnswered)
    assert (sent.role, sent.model, sent.bound) == ("embeddings", "scripted-embedder", CALL)
    assert len(json.loads(answered.reply.text)) == len(TEXTS)
    assert context.world.model.requests[0].messages[-1].content == f"read [{BY_VECTORS}]"


def test_words_rank_where_there_is_none(tmp_path: Path) -> None:
    """Without an embedding model BM25 ranks at no cost."""
    context = Bench(tmp_path, None)
    outcome = context.execute()
    assert outcome.report == str(BY_WORDS)
    assert context.sent() == ["bm25", "scripted"]
    assert outcome.spend.tokens == 120


def test_many_texts_are_ranked_as_one(tmp_path: Path) -> None:
    """Texts are sent in batches, each with the query, and ranked together."""
    embedder = ScriptedEmbedder(usage=CALL)
    context = Bench(tmp_path, embedder)
    outcome = context.execute(Reader([*TEXTS[2:], *["something else"] * 20, *TEXTS[:2]]))
    assert outcome.report == "(23, 0)"
    assert [len(asked) for asked in embedder.requests] == [10, 10, 7]
    assert all(asked[0] == QUERY for asked in embedder.requests)
    assert outcome.spend.tokens == 3 * 10 + 120


def test_embeddings_are_booked_like_any_call(tmp_path: Path) -> None:
    """Tokens and dollars, failed requests included, are charged to the role in spend and ledger."""
    settings = ModelSettings(price=Price(prompt=1.0, completion=0.0))
    faults = [None, status(500), status(503)]
    with Endpoint(lambda asked: "", faults) as server:
        embedder = OpenAIEmbedder("mine", base_url=server.url, api_key=None, settings=settings)
        context = Bench(tmp_path, embedder)
        outcome = context.execute(Reader(TEXTS, QUERY, "pots"))
    calls = WORK_LOG.read(context.folder.log).calls
    mine = [entry for entry in calls if entry.role == "embeddings"]
    assert [entry.model for entry in mine] == ["mine", "mine"]
    assert [entry.spend.retries for entry in mine] == [0, 2]
    assert sum(entry.spend.tokens for entry in mine) == server.counted.tokens
    assert outcome.spend.tokens == server.counted.tokens + 120 == context.ledger.spent.tokens
    assert outcome.spend.usd == pytest.approx(server.counted.tokens / 1e6)
    assert context.ledger.spent.usd == pytest.approx(outcome.spend.usd)


@pytest.mark.parametrize(
    ("query", "texts", "top", "order"),
    [
        ("", ["a", "b"], 2, (0, 1)),
        ("  \n", ["a", "", "b"], 2, (0, 2)),
        ("a", [], 2, ()),
        ("a", ["anything"], 2, (0,)),
        ("a", ["", " ", "anything", ""], 4, (2, 0, 1, 3)),
        ("a", ["", " "], 1, (0,)),
    ],
)
def test_what_needs_no_ranking_asks_nobody(
    tmp_path: Path, query: str, texts: list[str], top: int, order: tuple[int, ...]
) -> None:
    """Blank queries, single texts and blank texts are ordered without a call."""
    with EventLog(tmp_path / "log.jsonl", WORK_EVENTS) as log:
        assert rank(Recorder(log), ScriptedEmbedder(), query, texts, top=top) == order
        assert not log.records


@pytest.mark.parametrize("embedder", [None, ScriptedEmbedder()])
def test_no_more_than_wanted_are_named(tmp_path: Path, embedder: Embedder | None) -> None:
    """At most `top` indices are returned; ties go by index, and lone surrogates are accepted."""
    with EventLog(tmp_path / "log.jsonl", WORK_EVENTS) as log:
        recorder = Recorder(log)
        texts = ["\ud800", "tree", "", "Größe 房价 🙂", "tree"]
        assert rank(recorder, embedder, "tree", texts, top=3) == (1, 4, 0)
        assert rank(recorder, embedder, "tree \udfff", texts, top=9)[-1] == 2
        assert rank(recorder, embedder, "tree", texts, top=0) == ()
        assert rank(recorder, embedder, "tree", texts, top=-1) == ()


@examples(30)
@given(st.text(), st.lists(st.text(max_size=20), max_size=12), st.integers(-1, 15), st.booleans())
def test_an_order_is_the_beginning_of_a_permutation(
    tmp_path_factory: pytest.TempPathFactory, query: str, texts: list[str], top: int, embeds: bool
) -> None:
    """Indices are unique, and there are as many as asked for and available."""
    path = tmp_path_factory.mktemp("ranked") / "log.jsonl"
    with EventLog(path, WORK_EVENTS) as log:
        order = rank(Recorder(log), ScriptedEmbedder() if embeds else None, query, texts, top=top)
    assert len(set(order)) == len(order) == min(max(0, top), len(texts))
    assert set(order) <= set(range(len(texts)))


def _lying(_text: str) -> object:
    return [0.0, 0.0]


def _goes_on(root: Path, make: Callable[[], Embedder], asked: Callable[[Embedder], int]) -> None:
    """Cut the log of an attempt after every record, and check that the outcome is the same."""
    whole = Bench(root / "whole", make())
    agent = Reader([*TEXTS, *["something else"] * 10], QUERY, "pots")
    expected = whole.execute(agent)
    lines = whole.folder.log.read_bytes().splitlines(keepends=True)
    models = whole.sent()
    for cut in range(len(lines) + 1):
        place = root / f"cut-{cut}"
        shutil.copytree(root / "whole", place)
        embedder = make()
        context = Bench(place, embedder)
        context.folder.log.write_bytes(b"".join(lines[:cut]))
        begun = WORK_LOG.read(context.folder.log)
        outcome = context.execute(agent)
        ignored = {"spend"}
        assert outcome.model_dump(exclude=ignored) == expected.model_dump(exclude=ignored)
        lost = int(begun.open_call is not None)
        assert outcome.spend.lost_calls == lost
        assert outcome.spend.calls == expected.spend.calls + lost
        assert len(context.sent()) == len(models) + lost
        recorded = [e for e in context.events()[:cut] if isinstance(e, CallAnswered | CallFailed)]
        mine = sum(isinstance(e, CallFailed) or e.reply.model.endswith("embedder") for e in recorded)
        assert asked(embedder) == asked(whole.dependencies.embedder or embedder) - mine


def test_an_attempt_killed_after_any_record_resumes_to_the_same_ranking(tmp_path: Path) -> None:
    """Killed after any record, an attempt ranks the same, and repeats no recorded request."""
    _goes_on(tmp_path, ScriptedEmbedder, _requests)


@pytest.mark.parametrize("error", [ContextError("too long"), None])
def test_any_prefix_with_a_failure_goes_on_to_the_same_order(
    tmp_path: Path, error: Exception | None
) -> None:
    """A permanent failure of embeddings is recorded, so a replay uses BM25 at once."""

    def make() -> Embedder:
        return ScriptedEmbedder(_lying) if error is None else Erring(*[error] * 9)

    _goes_on(tmp_path, make, _requests)


def _requests(embedder: Embedder) -> int:
    assert isinstance(embedder, ScriptedEmbedder)
    return len(embedder.requests)


def test_other_texts_are_told_apart(tmp_path: Path) -> None:
    """A recorded ranking is not replayed for other texts or another query."""
    context = Bench(tmp_path, ScriptedEmbedder())
    context.execute()
    lines = context.folder.log.read_bytes().splitlines(keepends=True)
    for other in (Reader([*TEXTS[:3], "changed"]), Reader(TEXTS, "pots"), Reader(TEXTS[::-1])):
        context.folder.log.write_bytes(b"".join(lines[:-1]))
        outcome = context.execute(other)
        assert outcome.failure is not None
        assert outcome.failure.cause is FailureCause.REPLAY


@pytest.mark.parametrize(
    ("embedder", "why"),
    [
        (Erring(ModelRefusedError("there are no embeddings here")), "there are no embeddings here"),
        (Erring(ContextError("a text is too long")), "a text is too long"),
        (ScriptedEmbedder(_lying), None),
        (ScriptedEmbedder(lambda text: [1.0] * (1 + len(text))), None),
        (ScriptedEmbedder(lambda text: [float("nan")]), None),
    ],
)
def test_words_rank_where_embeddings_fail_for_good(
    tmp_path: Path, embedder: Embedder, why: str | None
) -> None:
    """If embeddings fail permanently, BM25 ranks, the log has the reason, and usage stays charged."""
    context = Bench(tmp_path, embedder)
    outcome = context.execute()
    assert outcome.report == str(BY_WORDS)
    assert outcome.failure is None
    assert context.sent() == ["scripted-embedder", "bm25", "scripted"]
    if why is not None:
        assert context.failures() == [why]
    else:
        answered = next(event for event in context.events() if isinstance(event, CallAnswered))
        assert answered.reply.text.startswith(("the embeddings are", "an embedding is", "for 5 texts"))
    assert outcome.spend.tokens == context.ledger.spent.tokens == (120 if why else 130)


def test_a_lie_in_a_later_call_leaves_the_others_booked(tmp_path: Path) -> None:
    """If some batches succeeded, they are charged, and BM25 ranks all texts."""
    embedder = Erring(None, ModelRefusedError("the quota is spent"))
    context = Bench(tmp_path, embedder)
    outcome = context.execute(Reader([*["something else"] * 10, *TEXTS]))
    assert outcome.report == "(11, 13)"
    assert outcome.spend.tokens == context.ledger.spent.tokens == 10 + 120
    assert context.failures() == ["the quota is spent"]


def test_a_refusal_is_heard_once_and_by_embeddings_alone(tmp_path: Path) -> None:
    """An endpoint that refuses gets no further embedding requests; its chat model of that name does."""
    embedder = Erring(*[ModelRefusedError("no embeddings")] * 9)
    embedder.name = "scripted"
    context = Bench(tmp_path, embedder)
    outcome = context.execute(Reader(TEXTS, QUERY, "pots"))
    assert outcome.failure is None
    assert len(embedder.requests) == 1
    assert context.failures() == ["no embeddings"] * 2
    assert context.sent() == ["scripted", "bm25"] * 2 + ["scripted"]


def test_a_budget_that_allows_no_embeddings_leaves_the_words(tmp_path: Path) -> None:
    """If the budget does not allow embeddings, BM25 ranks, and the log has the reason."""
    embedder = ScriptedEmbedder(usage=Usage(prompt_tokens=200))
    context = Bench(tmp_path, embedder, tokens=150)
    outcome = context.execute()
    assert outcome.report == str(BY_WORDS)
    assert outcome.failure is None
    assert embedder.requests == []
    assert context.failures() == ["0 of 150 tokens are used up"]
    assert context.ledger.spent.tokens == 120


def test_a_busy_endpoint_of_embeddings_is_retried(tmp_path: Path) -> None:
    """A transient failure is retried, and each request is charged."""
    busy = ModelBusyError("429", billed=False)
    context = Bench(tmp_path, Erring(busy, ModelBusyError("reset"), None))
    outcome = context.execute()
    assert outcome.report == str(BY_VECTORS)
    assert (outcome.spend.retries, outcome.spend.bound_tokens) == (2, 10)
    assert context.ledger.spent.tokens == outcome.spend.tokens == 10 + 10 + 120


def test_an_endpoint_that_is_gone_leaves_the_work_to_be_resumed(tmp_path: Path) -> None:
    """If the endpoint is down the campaign stops, and resumes with embeddings later."""
    gone = Erring(*[ModelBusyError("nobody listens", billed=False)] * 99)
    with pytest.raises(ModelServiceError, match="no success for"):
        Bench(tmp_path, gone).execute()
    context = Bench(tmp_path, ScriptedEmbedder())
    assert context.execute().report == str(BY_VECTORS)
    assert context.sent() == ["scripted-embedder"] * 2 + ["scripted"]


def test_no_endpoint_is_waited_for_beyond_the_end(tmp_path: Path) -> None:
    """If the deadline passes before the endpoint recovers, the attempt ends."""
    later = ModelBusyError("come later", retry_after=700, billed=False)
    context = Bench(tmp_path, Erring(*[later] * 9))
    outcome = context.execute()
    assert outcome.failure is not None
    assert outcome.failure.cause is FailureCause.TIME


def _fault(number: int, _asked: object) -> Fault | None:
    return status(501) if number == 0 else None


def test_an_endpoint_without_embeddings_is_asked_for_replies(tmp_path: Path) -> None:
    """Over HTTP: a server without embeddings refuses once, and BM25 ranks from then on."""
    with Endpoint(lambda asked: "", _fault) as server:
        settings = ModelSettings()
        embedder = OpenAIEmbedder("mine", base_url=server.url, api_key=None, settings=settings)
        context = Bench(tmp_path, embedder)
        outcome = context.execute(Reader(TEXTS, QUERY, "pots"))
    assert outcome.report == str(BY_WORDS)
    assert len(server.requests) == 1
    assert all("has no embeddings" in message for message in context.failures())
