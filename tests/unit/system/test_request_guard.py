"""Requests of other sites' pages, and bodies that are too large, are refused before an application."""

import socket
from collections.abc import Iterator

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from comind.system.request_guard import RequestGuard
from comind.system.web_server import WebServer


async def _size(request: Request) -> PlainTextResponse:
    return PlainTextResponse(str(len(await request.body())))


async def _socket(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.close()


_APP = Starlette(routes=[Route("/", _size, methods=["GET", "POST"]), WebSocketRoute("/socket", _socket)])


@pytest.fixture
def server() -> Iterator[WebServer]:
    """A server with pages, whose bodies have at most 100 bytes."""
    with WebServer(RequestGuard(_APP, pages=True, max_bytes=100)) as running:
        yield running


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "127.0.0.1:{port}"}, 200),
        ({"Host": "LocalHost:{port}"}, 200),
        ({"Host": "evil.example"}, 400),
        ({"Host": "127.0.0.1.evil.example"}, 400),
        ({"Host": "[::1"}, 400),
        ({"Host": ""}, 400),
        ({"Origin": "http://localhost:{port}"}, 200),
        ({"Origin": "http://127.0.0.1:{port}"}, 200),
        ({"Origin": "http://localhost:1"}, 403),
        ({"Origin": "http://localhost"}, 403),
        ({"Origin": "http://evil.example:{port}"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": ""}, 403),
    ],
)
def test_hosts_and_origins(headers: dict[str, str], status: int, server: WebServer) -> None:
    """Names of the loopback are the server's own, and with its port they are its pages' origin."""
    named = {name: text.format(port=server.port) for name, text in headers.items()}
    assert httpx.post(server.url, headers=named, content=b"x").status_code == status


def test_an_application_without_pages_has_no_origin() -> None:
    """Any `Origin` comes from a browser, also one of the same name; any name is the server's."""
    with WebServer(RequestGuard(_APP, hosts=None)) as server:
        named = {"Host": "node.example"}
        assert httpx.get(server.url, headers=named).status_code == 200
        named["Origin"] = "http://node.example"
        assert httpx.get(server.url, headers=named).status_code == 403


@pytest.mark.parametrize("parts", [[b"x" * 101], [b"x" * 60, b"x" * 41], [b"x"] * 1000])
@pytest.mark.parametrize("announced", [True, False])
def test_a_body_that_is_too_large(parts: list[bytes], announced: bool, server: WebServer) -> None:
    """It is refused whether or not its length is announced, and the next request is answered."""
    content = b"".join(parts) if announced else iter(parts)
    assert httpx.post(server.url, content=content).status_code == 413
    assert httpx.post(server.url, content=iter([b"x" * 60, b"x" * 40])).text == "100"


@pytest.mark.parametrize(("origin", "status"), [("http://evil.example", b"403"), (None, b"101")])
def test_a_websocket_is_a_request(origin: str | None, status: bytes, server: WebServer) -> None:
    """A page of another site opens none."""
    lines = [
        *("GET /socket HTTP/1.1", f"Host: localhost:{server.port}", "Connection: Upgrade"),
        *("Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: " + "A" * 22 + "=="),
        *([f"Origin: {origin}"] if origin else []),
    ]
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        assert connection.recv(64).split()[1] == status


@pytest.mark.parametrize(("path", "origin", "status"), [("/nowhere", "", b"404"), ("/", "null", b"403")])
def test_a_response_waits_until_the_body_has_come(
    path: str, origin: str, status: bytes, server: WebServer
) -> None:
    """A client that sends the body after the headers gets the response, not a broken connection."""
    lines = [f"POST {path} HTTP/1.1", f"Host: localhost:{server.port}", "Content-Length: 2"]
    lines += ["Connection: close", *([f"Origin: {origin}"] if origin else [])]
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        connection.settimeout(0.3)
        with pytest.raises(TimeoutError):
            connection.recv(64)
        connection.settimeout(None)
        connection.sendall(b"{}")
        assert connection.recv(64).split()[1] == status
