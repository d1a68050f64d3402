"""Serve an OpenAI-compatible endpoint with injected faults: a real HTTP server on the loopback.

    with Endpoint(lambda request: "the reply", faults=[status(429), None, reset()]) as server:
        OpenAIModel("any", base_url=server.url, api_key=None)

Each request takes the next fault (faults.py); None, as after the last one, is a good
reply. A function in place of the list is called for each request. Replies are streamed if requested;
embeddings are word counts. The server counts calls and tokens, to verify the counts of its clients.
"""

import json
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from comind.llm.model_ports import Usage
from comind.llm.tokens import count_tokens
from comind.testing.embedder import counted_words
from tests.doubles.completions import as_stream, chat_body, embeddings_body, responses_body
from tests.doubles.faults import EndpointResponse, Fault

__all__ = ["Endpoint", "EndpointRequest"]

_MESSAGE_TOKENS, _IMAGE_TOKENS = 4, 765


@dataclass(frozen=True, slots=True)
class EndpointRequest:
    """One request, whatever its protocol."""

    body: dict[str, Any]
    path: str
    key: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation."""
        found = self.body.get("messages") or self.body.get("input") or []
        return [each if isinstance(each, dict) else {"content": each} for each in found]

    @property
    def embeds(self) -> bool:
        """Whether embeddings are requested."""
        return self.path.endswith("/embeddings")

    @property
    def text(self) -> str:
        """The whole conversation as text."""
        return "\n".join(str(message.get("content")) for message in self.messages)

    @property
    def wanted(self) -> str:
        """Name of the JSON schema of the reply; empty for none."""
        chat = self.body.get("response_format", {}).get("json_schema", {})
        return str(chat.get("name") or self.body.get("text", {}).get("format", {}).get("name", ""))


class Endpoint:
    """Serves inside a `with` block; thread-safe."""

    def __init__(
        self,
        answer: Callable[[EndpointRequest], str],
        faults: Iterable[Fault | None] | Callable[[int, EndpointRequest], Fault | None] = (),
        *,
        models: Iterable[dict[str, Any]] = ({"id": "test-model"},),
        pages: Mapping[str, object] | None = None,
    ) -> None:
        """Create the server without listening.

        Args:
            answer: returns the text of a good reply.
            faults: by request.
            models: list of models, the response to any GET.
            pages: responses to other GETs by path.
        """
        self._answer = answer
        self._faults = faults if callable(faults) else _sequence(faults)
        self.models = list(models)
        self.pages = dict(pages or {})
        self.requests: list[EndpointRequest] = []
        """All requests."""
        self.completed = 0
        """Number of good replies."""
        self.counted = Usage()
        """Tokens of good replies."""
        self.wasted = Usage()
        """Tokens of replies that were not sent completely."""
        self._seen: set[int] = set()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._server: ThreadingHTTPServer | None = None
        self._port = 0

    @property
    def url(self) -> str:
        """Base URL."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def listening(self) -> bool:
        """Whether it accepts connections."""
        return self._server is not None

    def fail(self, faults: Callable[[int, EndpointRequest], Fault | None]) -> None:
        """Replace the faults."""
        self._faults = faults

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start listening, after a stop on the same port."""
        self._ended.clear()
        self._server = _Server(
            ("127.0.0.1", self._port), type("Handler", (_Handler,), {"endpoint": self})
        )
        self._port = self._server.server_port
        thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        thread.start()

    def stop(self) -> None:
        """Stop listening; connections are refused."""
        self._ended.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def wait_for_end(self, seconds: float = 60) -> None:
        """Wait until the server is stopped, at most `seconds`."""
        self._ended.wait(seconds)

    def respond(self, request: EndpointRequest) -> EndpointResponse:
        """Return the response to a request, and count it."""
        with self._lock:
            self.requests.append(request)
            number = len(self.requests) - 1
        fault = self._faults(number, request)
        text = "" if request.embeds else self._answer(request)
        usage = self._usage(request, text)
        if request.embeds:
            usage = Usage(prompt_tokens=usage.prompt_tokens)
            good = embeddings_body([counted_words(text) for text in request.body["input"]], usage)
        else:
            good = chat_body(text, usage) if "messages" in request.body else responses_body(text, usage)
        found = good if fault is None else fault(good)
        with self._lock:
            if isinstance(found, dict) or found.completed:
                self.completed += 1
                self.counted = _sum(self.counted, usage)
            elif found.code == 200 and found.then:
                self.wasted = _sum(self.wasted, usage)
        return _encoded(
            found if isinstance(found, EndpointResponse) else EndpointResponse(body=found), request
        )

    def _usage(self, request: EndpointRequest, text: str) -> Usage:
        """Count the tokens of a request; a prefix of messages that was sent before is cached."""
        prompt = cached = 0
        prefix = 0
        for message in request.messages:
            content = message.get("content")
            size = _tokens(content) + _MESSAGE_TOKENS
            prefix = hash((prefix, message.get("role"), str(content)))
            with self._lock:
                known = prefix in self._seen
                self._seen.add(prefix)
            prompt += size
            cached += size if known and cached == prompt - size else 0
        return Usage(
            prompt_tokens=prompt, cached_tokens=cached, completion_tokens=count_tokens(text) + 1
        )


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log nothing: broken connections are expected."""


class _Handler(BaseHTTPRequestHandler):
    endpoint: Endpoint
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        listed: object = {"object": "list", "data": self.endpoint.models}
        body = json.dumps(self.endpoint.pages.get(self.path, listed)).encode()
        self._send(EndpointResponse(body=body, content_type="application/json"))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        self._send(
            self.endpoint.respond(
                EndpointRequest(body, self.path, key, {k.lower(): v for k, v in self.headers.items()})
            )
        )

    def _send(self, answer: EndpointResponse) -> None:
        self.close_connection = True
        if answer.delay:
            self.endpoint.wait_for_end(answer.delay)
        body = answer.body
        assert isinstance(body, bytes)
        if answer.sent:
            self.send_response(answer.code)
            self.send_header("Content-Type", answer.content_type)
            if answer.then != "end" and not answer.drips:
                self.send_header("Content-Length", str(len(body)))
            self.send_header("Connection", "close")
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if answer.drips:
                self._drip()
            self.wfile.write(body[: int(answer.sent * len(body))])
            self.wfile.flush()
        if answer.then == "silence":
            self.endpoint.wait_for_end()
        if answer.then in ("reset", "silence"):
            linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"  # a close with it resets the connection
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.connection.shutdown(socket.SHUT_RD)
            self.connection.close()

    def _drip(self) -> None:
        while self.endpoint.listening:
            self.wfile.write(b"\n")
            self.wfile.flush()
            self.endpoint.wait_for_end(0.02)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def _encoded(answer: EndpointResponse, request: EndpointRequest) -> EndpointResponse:
    """Return an answer with its body as bytes, streamed if requested."""
    if isinstance(answer.body, bytes):
        return replace(answer, content_type=answer.content_type or "application/json")
    if request.body.get("stream"):
        counted = (request.body.get("stream_options") or {}).get("include_usage", False)
        body, kind = as_stream(answer.body, counted=counted), "text/event-stream"
    else:
        body, kind = json.dumps(answer.body).encode(), "application/json"
    return replace(answer, body=body, content_type=answer.content_type or kind)


def _sequence(faults: Iterable[Fault | None]) -> Callable[[int, EndpointRequest], Fault | None]:
    left, lock = iter(faults), threading.Lock()

    def following(_number: int, _asked: EndpointRequest) -> Fault | None:
        with lock:
            return next(left, None)

    return following


def _tokens(content: object) -> int:
    """Count the tokens of a message's content, text or parts."""
    if not isinstance(content, list):
        return count_tokens(str(content))
    return sum(count_tokens(part["text"]) if "text" in part else _IMAGE_TOKENS for part in content)


def _sum(one: Usage, other: Usage) -> Usage:
    added = {name: value + getattr(other, name) for name, value in one.model_dump().items()}
    return Usage.model_validate(added)
