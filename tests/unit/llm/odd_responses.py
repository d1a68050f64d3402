"""What servers send in place of a good response: what is odd in any protocol, bodies and streams."""

import json
from collections.abc import Iterator

from tests.doubles.completions import chat_body
from tests.doubles.faults import EndpointResponse
from tests.unit.llm import odd_bodies, odd_streams
from tests.unit.llm.samples import STOP

_EVENTS = "text/event-stream"
_DEEP = "[" * 100_000
_BODIES = {
    "chat": odd_bodies.chat_bodies,
    "responses": odd_bodies.responses_bodies,
    "embeddings": odd_bodies.embeddings_bodies,
}
_STREAMS = {"chat": odd_streams.chat_streams, "responses": odd_streams.responses_streams}


def odd_responses(protocol: str) -> Iterator[tuple[str, EndpointResponse]]:
    """Yield each odd response to a request of a protocol, with its name."""
    yield from _of_any().items()
    for name, body in _BODIES[protocol]():
        yield f"body: {name}", EndpointResponse(body=json.dumps(body).encode())
    for name, stream in _STREAMS[protocol]() if protocol in _STREAMS else ():
        sent = stream if isinstance(stream, bytes) else stream.encode()
        yield f"stream: {name}", EndpointResponse(body=sent, content_type=_EVENTS)


def _of_any() -> dict[str, EndpointResponse]:
    """Return replies that are odd in every protocol."""
    html = b"<html><body>Sorry</body></html>"
    refused = {"message": "bad\nvalue", "code": "no_such_key"}
    texts: dict[str, tuple[int, str, bytes]] = {
        "empty": (200, "application/json", b""),
        "HTML": (200, "text/html", html),
        "HTML called JSON": (200, "application/json", html),
        "half an object": (200, "application/json", b'{"choices": [{"mess'),
        "null": (200, "application/json", b"null"),
        "number": (200, "application/json", b"17"),
        "text": (200, "application/json", b'"yes"'),
        "list": (200, "application/json", b"[1, 2]"),
        "empty object": (200, "application/json", b"{}"),
        "deep": (200, "application/json", _DEEP.encode()),
        "deep text": (200, "text/plain", _DEEP.encode()),
        "long number": (200, "application/json", b"1" * 5_000),
        "no UTF-8": (200, "application/json", b'{"error": "\xff\xfe"}'),
        "byte order mark": (200, "application/json", b"\xef\xbb\xbf{}"),
        "error": (200, "application/json", json.dumps({"error": refused}).encode()),
        "error as text": (200, "text/plain", b'{"error": "lost\\nfor ever"}'),
        "error true": (200, "application/json", b'{"error": true}'),
        "error as list": (200, "application/json", b'{"error": [1]}'),
        "error without message": (200, "application/json", b'{"error": {"code": 7}}'),
        "error event": (200, _EVENTS, b'data: {"error": {"message": "lost"}}\n\n'),
        "error event as text": (200, _EVENTS, b'event: error\ndata: {"error": "lost"}\n\n'),
        "type error": (200, _EVENTS, b'data: {"type": "error", "message": "lost", "code": null}\n\n'),
        "[DONE] alone": (200, _EVENTS, b"data: [DONE]\n\n"),
        "comments alone": (200, _EVENTS, b": wait\n\n: wait\n\n"),
        "field alone": (200, _EVENTS, b"data:"),
        "blank lines": (200, _EVENTS, b"\n\n\n"),
        "broken event": (200, _EVENTS, b'data: {"choices": [\n\n'),
        "list event": (200, _EVENTS, b"data: [1]\n\n"),
        "null event": (200, _EVENTS, b"data: null\n\n"),
        "deep event": (200, _EVENTS, f"data: {_DEEP}\n\n".encode()),
        "201": (201, "application/json", json.dumps(chat_body(STOP, odd_bodies.USAGE)).encode()),
        "204": (204, "application/json", b""),
        "304": (304, "application/json", b""),
        "400": (400, "application/json", json.dumps({"error": refused}).encode()),
        "400, error as text": (400, "application/json", b'{"error": "bad\\nvalue"}'),
        "400, error null": (400, "application/json", b'{"error": null}'),
        "400, message": (400, "application/json", b'{"message": "bad"}'),
        "400, detail": (400, "application/json", b'{"detail": [{"msg": "bad"}]}'),
        "400, list": (400, "application/json", b'[{"error": {"message": "bad"}}]'),
        "400, HTML": (400, "text/html", html),
        "400, empty": (400, "application/json", b""),
        "400, deep": (400, "application/json", _DEEP.encode()),
        "400, no UTF-8": (400, "text/plain", b"bad \xff"),
        "400, event": (400, _EVENTS, b'data: {"error": {"message": "bad"}}\n\n'),
        "418": (418, "text/plain", b"a teapot"),
        "500, stream": (500, _EVENTS, b'data: {"error": {"message": "lost"}}\n\n'),
    }
    return {name: EndpointResponse(code, body, kind) for name, (code, kind, body) in texts.items()}
