"""Build responses of each OpenAI protocol: a completion as one body, and as a stream of events."""

import json
from typing import Any

from comind.llm.model_ports import Usage

__all__ = ["as_stream", "chat_body", "embeddings_body", "responses_body"]

_PIECE = 7  # characters of a delta; about a token or two


def chat_body(text: str, usage: Usage) -> dict[str, Any]:
    """Return the body of a chat completion."""
    message = {"role": "assistant", "content": text}
    return {
        "id": "chat-1",
        "object": "chat.completion",
        "created": 1,
        "model": "test-model",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "total_tokens": usage.tokens,
            "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        },
    }


def responses_body(text: str, usage: Usage) -> dict[str, Any]:
    """Return the body of a response."""
    content = [{"type": "output_text", "text": text}]
    return {
        "id": "response-1",
        "object": "response",
        "status": "completed",
        "model": "test-model",
        "output": [{"type": "message", "role": "assistant", "content": content}],
        "usage": {
            "input_tokens": usage.prompt_tokens,
            "output_tokens": usage.completion_tokens,
            "input_tokens_details": {"cached_tokens": usage.cached_tokens},
            "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        },
    }


def embeddings_body(vectors: list[list[float]], usage: Usage) -> dict[str, Any]:
    """Return the body of embeddings."""
    data = [
        {"object": "embedding", "index": number, "embedding": vector}
        for number, vector in enumerate(vectors)
    ]
    tokens = {"prompt_tokens": usage.prompt_tokens, "total_tokens": usage.prompt_tokens}
    return {"object": "list", "data": data, "model": "test-model", "usage": tokens}


def as_stream(body: dict[str, Any], *, counted: bool, over_lines: bool = False) -> bytes:
    """Return a body as a stream of server-sent events; a chat ends with its usage if `counted`.

    With `over_lines` the JSON of an event has several lines of data.
    """
    if body.get("object") == "response":
        return _written(_response_events(body), over_lines=over_lines)
    events = [*_chat_events(body)]
    if counted and body.get("usage") is not None:
        events.append({"choices": [], "usage": body["usage"]})
    return _written(events, over_lines=over_lines) + b"data: [DONE]\n\n"


def _written(events: list[dict[str, Any]], *, over_lines: bool) -> bytes:
    written = (json.dumps(event, indent=1 if over_lines else None) for event in events)
    return "".join("data: " + text.replace("\n", "\ndata: ") + "\n\n" for text in written).encode()


def _chat_events(body: dict[str, Any]) -> list[dict[str, Any]]:
    if body.get("error"):
        return [{"error": body["error"]}]
    common = {"id": "chat-1", "object": "chat.completion.chunk", "created": 1}
    common |= {"model": body["model"]} if "model" in body else {}
    return [
        common | {"choices": [{"index": choice.get("index", 0), **piece}]}
        for choice in body["choices"]
        for piece in _pieces(choice)
    ]


def _pieces(choice: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the chunks of a choice: its role, its text in parts, other fields, its finish reason."""
    message = dict(choice["message"])
    text = message.pop("content", None) or ""
    parts = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
    rest = {name: value for name, value in message.items() if name != "role"}
    deltas = [
        {"role": "assistant", "content": ""},
        *({"content": part} for part in parts),
        *([rest] if rest else []),
    ]
    return [
        *({"delta": delta, "finish_reason": None} for delta in deltas),
        {"delta": {}, "finish_reason": choice.get("finish_reason")},
    ]


def _response_events(body: dict[str, Any]) -> list[dict[str, Any]]:
    text = "".join(part["text"] for item in body["output"] for part in item["content"])
    parts = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
    return [
        {"type": "response.created", "response": body | {"status": "in_progress", "output": []}},
        *({"type": "response.output_text.delta", "delta": part} for part in parts),
        {"type": f"response.{body['status']}", "response": body},
    ]
