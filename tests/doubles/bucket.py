"""An S3-compatible server in memory: objects by path, without a look at signatures."""

import threading
import time

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from comind.system.web_server import WebServer

__all__ = ["Bucket"]


class Bucket(WebServer):
    """Answers HEAD, GET and PUT; serves in a thread for the length of a `with` block."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.requests: list[tuple[str, str]] = []
        """Method and path with query of each request."""
        self.get_status = 200
        """Status of every GET; the content follows only if it is 200."""
        self.put_status = 200
        self.cut = False
        """Whether contents end in the middle."""
        self._lock = threading.Lock()
        route = Route("/{path:path}", self._answer, methods=["GET", "HEAD", "PUT"])
        super().__init__(Starlette(routes=[route]), port=0, host="127.0.0.1")

    @property
    def endpoint(self) -> str:
        """URL of the server."""
        return f"http://127.0.0.1:{self.port}"

    def count(self, method: str) -> int:
        """Return the number of requests with this method."""
        with self._lock:
            return sum(each == method for each, _ in self.requests)

    async def _answer(self, request: Request) -> Response:
        path, body = request.url.path, await request.body()
        with self._lock:
            self.requests.append((request.method, f"{path}?{request.url.query}"))
        if request.method == "PUT":
            if self.put_status == 200:
                self.objects[path] = body
            return Response(status_code=self.put_status)
        status = self.get_status if request.method == "GET" else 200
        content = self.objects.get(path)
        if content is None or status != 200:
            return Response(status_code=404 if content is None else status)
        if request.method == "GET" and self.cut:
            return Response(content[: len(content) // 2])
        return Response(content, headers={"ETag": f'"{time.time_ns()}"'})
