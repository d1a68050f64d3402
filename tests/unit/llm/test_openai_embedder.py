"""The embeddings client against a real server on the loopback."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from comind.errors import ComindError, ContextError, ModelBusyError, ModelRefusedError, ReplyError
from comind.llm.model_ports import Embedder
from comind.llm.openai_embedder import OpenAIEmbedder
from comind.llm.retrieval import cosines, nearest
from comind.llm.settings import ModelSettings, Price
from tests.doubles.endpoint import Endpoint, EndpointRequest
from tests.doubles.faults import EndpointResponse, Fault, cut_short, raw, reset, status

ASKED = ["red apples", "green pears", "red apples and pears"]


def _server(*faults: Fault | None) -> Endpoint:
    return Endpoint(lambda asked: "", faults)


def _embedder(server: Endpoint, key: str | None = None, **settings: Any) -> Embedder:
    said = ModelSettings.model_validate(settings)
    return OpenAIEmbedder("test-model", base_url=server.url, api_key=key, settings=said)


def _body(change: Callable[[dict[str, Any]], Any]) -> Fault:
    """Change the body of a good response."""

    def fault(good: dict[str, Any]) -> EndpointResponse:
        return EndpointResponse(body=json.dumps(change(good)).encode(), completed=True)

    return fault


def test_texts_become_vectors() -> None:
    """All texts are embedded in one request; usage is the server's with its price."""
    price = Price(prompt=1_000.0, completion=0.0)
    with _server() as server:
        came = _embedder(server, "sk-mine", price=price).embed(ASKED)
    assert nearest(cosines(came.vectors, 2)) == [1, 0]
    (request,) = server.requests
    assert request.path == "/v1/embeddings"
    assert request.key == "sk-mine"
    assert request.body == {"model": "test-model", "input": ASKED, "encoding_format": "float"}
    assert came.exact
    assert came.usage.prompt_tokens == server.counted.tokens > 0
    assert came.usage.usd == pytest.approx(came.usage.tokens / 1_000)


def test_a_bound_holds_for_any_text() -> None:
    """The upper bound is a token per byte, so it covers the count of any server."""
    with _server() as server:
        embedder = _embedder(server, price=Price(prompt=1.0, completion=0.0))
        for texts in (ASKED, ["é" * 20_000, "🙂"], ["x" * 100_000]):
            bound, came = embedder.bound(texts), embedder.embed(texts)
            assert came.usage.tokens <= bound.tokens
            assert came.usage.usd <= bound.usd


def test_a_long_text_to_embed_is_truncated_to_its_beginning() -> None:
    """Texts are truncated to 8,000 characters."""
    with _server() as server:
        _embedder(server).embed(["q", "word " * 10_000])
    assert [len(text) for text in server.requests[0].body["input"]] == [1, 8_000]


@pytest.mark.parametrize(
    "refusal",
    [
        status(400, "This model's maximum context length is 512 tokens, however you requested 1451"),
        status(400, "Invalid 'input[0]': maximum input length is 8192 tokens."),
        status(500, "input (992 tokens) is too large to process. increase the physical batch size"),
        status(413, "`inputs` must have less than 512 tokens. Given: 1000"),
    ],
)
def test_a_server_that_reads_less_is_sent_less(refusal: Fault) -> None:
    """A text refused as too long, with any status, is halved, and later ones from the start."""
    with _server(refusal, refusal) as server:
        embedder = _embedder(server)
        embedder.embed(["q", "x" * 9_000])
        embedder.embed(["x" * 9_000])
    sent = [len(asked.body["input"][-1]) for asked in server.requests]
    assert sent == [8_000, 4_000, 2_000, 2_000]


def test_a_server_that_reads_nothing_is_given_up() -> None:
    """Halving ends with a ContextError."""
    with Endpoint(lambda asked: "", lambda number, asked: status(413)) as server:
        with pytest.raises(ContextError, match="longer than the context window of the model test-model"):
            _embedder(server).embed(["x" * 9_000])
        assert len(server.requests) == 6


@pytest.mark.parametrize(
    ("fault", "error", "says"),
    [
        (status(401), ModelRefusedError, "refuses the key"),
        (status(404), ModelRefusedError, "is not known there"),
        (status(405), ModelRefusedError, "is not known there"),
        (status(501, "start it with --embeddings"), ModelRefusedError, "has no embeddings"),
        (status(400, "sk-mine is bad"), ModelRefusedError, r"400 \(the key\) is bad"),
        (status(429), ModelBusyError, "429"),
        (status(429, "insufficient_quota"), ModelRefusedError, "quota"),
        (status(500), ModelBusyError, "500"),
        (reset(), ModelBusyError, "connection broke"),
        (cut_short(0.5), ModelBusyError, "not JSON"),
        (raw("<html>"), ModelBusyError, "not JSON"),
    ],
)
def test_what_a_failure_means(fault: Fault, error: type[ComindError], says: str) -> None:
    """Failures raise the errors of any model; a server without embeddings is a refusal."""
    with _server(fault) as server, pytest.raises(error, match=says):
        _embedder(server, "sk-mine").embed(ASKED)


@pytest.mark.parametrize(
    "lie",
    [
        lambda good: [],
        lambda good: 3,
        lambda good: {"error": {"message": "busy"}},
        lambda good: good | {"data": None},
        lambda good: good | {"data": [1, 2, 3]},
        lambda good: good | {"data": good["data"][:2]},
        lambda good: good | {"data": good["data"] * 2},
        lambda good: good | {"data": [each | {"embedding": "AAAA"} for each in good["data"]]},
        lambda good: good | {"data": [each | {"embedding": [float("nan")]} for each in good["data"]]},
        lambda good: good | {"data": [each | {"index": float("inf")} for each in good["data"]]},
        lambda good: good | {"data": [*good["data"][:2], {"index": 2, "embedding": [1.0]}]},
    ],
)
def test_a_lie_is_paid_for_and_found(lie: Callable[[dict[str, Any]], Any]) -> None:
    """Vectors are returned as sent, not validated, with their usage."""
    with _server(_body(lie)) as server:
        embedder = _embedder(server)
        came = embedder.embed(ASKED)
        assert 0 < came.usage.tokens <= embedder.bound(ASKED).tokens
    with pytest.raises(ReplyError):
        cosines(came.vectors, 2)


def test_vectors_are_put_in_order() -> None:
    """A server may send vectors in any order with their index."""

    def turned(good: dict[str, Any]) -> dict[str, Any]:
        return good | {"data": good["data"][::-1]}

    with _server(_body(turned), None) as server:
        embedder = _embedder(server)
        assert embedder.embed(ASKED).vectors == embedder.embed(ASKED).vectors


@pytest.mark.parametrize("usage", [None, 3, {}, {"prompt_tokens": -1}, {"prompt_tokens": 10**9}])
def test_a_count_that_cannot_be_true_is_not_believed(usage: object) -> None:
    """Without plausible usage the call is charged its upper bound."""
    with _server(_body(lambda good: good | {"usage": usage})) as server:
        embedder = _embedder(server)
        came = embedder.embed(ASKED)
        assert not came.exact
        assert came.usage == embedder.bound(ASKED)


def test_the_endpoint_counts_what_was_embedded() -> None:
    """The test endpoint counts the tokens of embeddings, too."""
    with Endpoint(lambda asked: "", lambda number, asked: _unless_red(asked)) as server:
        embedder = _embedder(server)
        took = embedder.embed(["green pears"]).usage.tokens
        with pytest.raises(ModelBusyError):
            embedder.embed(["red apples"])
    assert server.counted.tokens == took
    assert server.completed == 1


def _unless_red(asked: EndpointRequest) -> Fault | None:
    return status(500) if "red" in asked.text else None
