"""A hub of models with the two routes of Hugging Face's API that are used; files come by a redirect."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import unquote

__all__ = ["REVISION", "Hub"]

REVISION = "c0ffee" * 6


class Hub:
    """Serves models in a thread for the length of a `with` block."""

    def __init__(self) -> None:
        self.models: dict[str, dict[str, bytes]] = {}
        """Files by name, of models by OWNER/NAME."""
        self.licences: dict[str, str] = {}
        self.sizes: dict[str, int] = {}
        """Bytes that are told of each file, of models by OWNER/NAME; else its own."""
        self.gated: set[str] = set()
        self.refusal: tuple[int, dict[str, str]] | None = None
        """Status and headers of every answer."""
        self.cut = 0
        """How many of the next files end in the middle."""
        self.down_after: int | None = None
        """The number of files after which no connection is answered; the last ends in the middle."""
        self.corrupt = 0
        """How many of the next files have another content."""
        self.requests: list[tuple[str, dict[str, str]]] = []
        """Path and headers of each request."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": self}))
        self._server.daemon_threads = True

    @property
    def endpoint(self) -> str:
        """URL of the hub; its files are on another host, localhost."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def port(self) -> int:
        """Port of both."""
        return self._server.server_address[1]

    def headers_of(self, part: str) -> list[dict[str, str]]:
        """Return the headers of the requests whose path contains `part`."""
        return [headers for path, headers in self.requests if part in path]

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        path = unquote(self.path.partition("?")[0])
        self.hub.requests.append((path, {name.lower(): text for name, text in self.headers.items()}))
        if self.hub.refusal:
            self._answer(self.hub.refusal[0], b"", self.hub.refusal[1])
        elif path.startswith("/api/models/"):
            self._tell(path.removeprefix("/api/models/"))
        elif path.startswith("/files/"):
            self._send_file(path.removeprefix("/files/"))
        else:
            self._redirect(path)

    def _tell(self, name: str) -> None:
        if name not in self.hub.models:
            self._answer(401, b'{"error":"Repository not found"}', {"X-Error-Code": "RepoNotFound"})
            return
        size = {"size": self.hub.sizes[name]} if name in self.hub.sizes else {}
        told = {
            "sha": REVISION,
            "siblings": [_sibling(*each) | size for each in self.hub.models[name].items()],
            "cardData": {"license": self.hub.licences[name]} if name in self.hub.licences else None,
        }
        self._answer(200, json.dumps(told).encode(), {})

    def _redirect(self, path: str) -> None:
        name, _, file = path.strip("/").partition(f"/resolve/{REVISION}/")
        if name in self.hub.gated:
            self._answer(403, b"", {"X-Error-Code": "GatedRepo"})
        else:
            where = f"http://localhost:{self.hub.port}/files/{name}/{file}"
            self._answer(302, b"", {"Location": where})

    def _send_file(self, path: str) -> None:
        owner, name, file = path.split("/", 2)
        content = self.hub.models[f"{owner}/{name}"].get(file)
        if content is None:
            self._answer(404, b"", {})
            return
        if self.hub.down_after == 0:
            self.close_connection = True
            return
        if self.hub.down_after is not None:
            self.hub.down_after -= 1
        if self.hub.corrupt:
            self.hub.corrupt -= 1
            content = content[::-1]
        begin = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
        rest = content[begin:]
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        if self.hub.cut or self.hub.down_after == 0:
            self.hub.cut = max(0, self.hub.cut - 1)
            self.wfile.write(rest[: len(rest) // 2])
            self.close_connection = True
        else:
            self.wfile.write(rest)

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, text in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)


def _sibling(name: str, content: bytes) -> dict[str, object]:
    """Return what the API tells of a file: large ones are in LFS."""
    told: dict[str, object] = {"rfilename": name, "size": len(content)}
    if name.endswith((".safetensors", ".bin")):
        return told | {"lfs": {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}}
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)
    return told | {"blobId": blob.hexdigest()}
