"""What a server sends in place of a good reply gives a reply or one clear line, however it was asked."""

import os
from pathlib import Path
from typing import Any

import pytest

from comind.errors import ComindError, ModelServiceError, ReplyError
from comind.llm.exchange import request_for
from comind.llm.openai_embedder import OpenAIEmbedder
from comind.llm.openai_model import OpenAIModel
from comind.llm.settings import ModelSettings, Protocol
from tests.doubles.endpoint import Endpoint
from tests.doubles.faults import EndpointResponse, Fault
from tests.unit.llm.odd_responses import odd_responses
from tests.unit.llm.samples import PROMPT, Verdict

_FOLDER = Path(__file__).parent / "outcomes"
_KEY = "sk-secret"
_WIDTH = 300


def _once(answer: EndpointResponse) -> Any:
    """Return faults of which the first request gets `answer`, and all further ones the same."""

    def fault(_number: int, _asked: object) -> Fault:
        return lambda _good: answer

    return fault


def _outcome(server: Endpoint, answer: EndpointResponse, model: OpenAIModel) -> str:
    """Return reply or error, what was learnt from it, and how many requests it took, in one line."""
    server.fail(_once(answer))
    before, known = len(server.requests), model.capabilities
    try:
        reply = model.complete(request_for(PROMPT, Verdict))
    except (ModelServiceError, ReplyError) as error:
        said = f"{type(error).__name__}: {error}".replace(server.url, "URL")
    else:
        used = reply.usage
        counts = f"{used.prompt_tokens} + {used.completion_tokens} tokens, {used.cached_tokens} cached"
        counts = counts if reply.exact else "tokens unknown"
        said = f"{reply.text!r}, {reply.finish!r}, {reply.form}, {reply.model!r}, {counts}"
    old, new = known.model_dump(exclude={"stream"}), model.capabilities.model_dump()
    model.capabilities = known
    learnt = {name: new[name] for name, value in old.items() if new[name] != value}
    requests = len(server.requests) - before
    more = f" | learnt {learnt}" if learnt else ""
    more += f" | {requests} requests" if requests > 1 else ""
    assert "\n" not in said
    assert _KEY not in said
    return said[:_WIDTH] + more


def _embedded(server: Endpoint, answer: EndpointResponse, embedder: OpenAIEmbedder) -> str:
    server.fail(_once(answer))
    try:
        came = embedder.embed(["one", "two"])
    except ComindError as error:
        return f"{type(error).__name__}: {error}".replace(server.url, "URL")[:_WIDTH]
    return f"{came.vectors!r}, {came.usage.prompt_tokens if came.exact else 'unknown'} tokens"


def _check(name: str, found: dict[str, str]) -> None:
    """Compare outcomes with the recorded ones; UPDATE_SNAPSHOTS=1 records them again."""
    lines = "".join(f"{each}\t{outcome}\n" for each, outcome in found.items())
    path = _FOLDER / f"{name}.tsv"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        _FOLDER.mkdir(exist_ok=True)
        path.write_text(lines, encoding="utf-8")
    assert lines.split("\n") == path.read_text(encoding="utf-8").split("\n")


@pytest.mark.parametrize("protocol", ["chat", "responses"])
def test_odd_replies_have_known_outcomes(protocol: Protocol) -> None:
    """Each is read or refused as recorded, the same whether a stream or a whole body was asked for."""
    found: dict[str, str] = {}
    with Endpoint(lambda _asked: "") as server:
        models = [
            OpenAIModel(
                "asked-model",
                base_url=server.url,
                api_key=_KEY,
                settings=ModelSettings(protocol=protocol, stream=stream),
            )
            for stream in (True, False)
        ]
        for name, answer in odd_responses(protocol):
            assert name not in found
            asked = [_outcome(server, answer, model) for model in models]
            found[name] = asked[0] if asked[0] == asked[1] else f"{asked[0]} | WHOLE: {asked[1]}"
    _check(protocol, found)


def test_odd_embeddings_have_known_outcomes() -> None:
    """Each is read or refused as recorded."""
    with Endpoint(lambda _asked: "") as server:
        embedder = OpenAIEmbedder("m", base_url=server.url, api_key=_KEY, settings=ModelSettings())
        found = {name: _embedded(server, each, embedder) for name, each in odd_responses("embeddings")}
    _check("embeddings", found)
