"""Rank texts by similarity to a query, recorded like model calls.

With an embedding model, a call embeds the query and a few texts, and the recorded reply is a JSON list
of cosine similarities. Without one, or after a permanent failure, one call of the model `bm25` is
computed locally at no cost. A replay sends no request.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import partial

from comind.campaign.log.outcome import BudgetExceeded
from comind.campaign.work.recorder import Recorder
from comind.domain.value import replace_surrogates
from comind.errors import ModelRefusedError, ReplyError
from comind.llm.model_ports import Embedder, ModelReply, Usage
from comind.llm.retrieval import bm25, cosines, nearest

EMBEDDINGS_ROLE = "embeddings"
BM25 = "bm25"
"""Model name of BM25 in the log."""

_BATCH = 9  # texts per request, besides the query: some servers accept no more than ten inputs
_PERMANENT = (ReplyError, ModelRefusedError, BudgetExceeded)


def rank(
    recorder: Recorder, embedder: Embedder | None, query: str, texts: Sequence[str], *, top: int
) -> tuple[int, ...]:
    """Return the indices of the texts nearest to a query; see `ThinkContext.rank`."""
    query, *texts = (replace_surrogates(text).strip() for text in (query, *texts))
    order = [number for number, text in enumerate(texts) if text]
    blank = [number for number, text in enumerate(texts) if not text]
    if query and len(order) > 1:
        scores = _scores(recorder, embedder, query, [texts[number] for number in order])
        order = [order[place] for place in nearest(scores)]
    return tuple([*order, *blank][: max(0, top)])


def _scores(
    recorder: Recorder, embedder: Embedder | None, query: str, texts: Sequence[str]
) -> list[float]:
    """Return the similarity of each text; fall back to BM25 if embeddings fail permanently."""
    if embedder is not None:
        try:
            scores: list[float] = []
            for start in range(0, len(texts), _BATCH):
                inputs = [query, *texts[start : start + _BATCH]]
                embed = partial(_embed, embedder, inputs)
                scores += _recorded(recorder, embedder.name, inputs, embedder.bound(inputs), embed)
        except _PERMANENT:
            pass
        else:
            return scores

    def by_words() -> ModelReply:
        return ModelReply(text=json.dumps(bm25(query, texts)), model=BM25)

    return _recorded(recorder, BM25, [query, *texts], Usage(), by_words)


def _embed(embedder: Embedder, inputs: Sequence[str]) -> ModelReply:
    came = embedder.embed(inputs)
    try:
        text = json.dumps(cosines(came.vectors, len(inputs) - 1))
    except ReplyError as error:
        text = str(error)  # recorded, as the usage is charged
    return ModelReply(
        text=text, model=embedder.name, usage=came.usage, exact=came.exact, seconds=came.seconds
    )


def _recorded(
    recorder: Recorder, model: str, inputs: Sequence[str], bound: Usage, ask: Callable[[], ModelReply]
) -> list[float]:
    fingerprint = hashlib.sha256(json.dumps([EMBEDDINGS_ROLE, *inputs]).encode()).hexdigest()
    reply = recorder.call(EMBEDDINGS_ROLE, model, fingerprint, bound, ask, at_fault=_PERMANENT)
    try:
        scores: list[float] = json.loads(reply.text)
    except ValueError:
        raise ReplyError(reply.text) from None
    return scores
