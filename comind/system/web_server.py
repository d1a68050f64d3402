"""Serve an ASGI application with uvicorn, on a port that is bound before it serves."""

import os
import socket
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import uvicorn

if TYPE_CHECKING:
    from starlette.types import ASGIApp

_START_SECONDS = 60.0  # it listens already: a request that comes earlier waits
_END_SECONDS = 60.0  # more than open requests are given to end


class WebServer:
    """An HTTP server for `app`, run by `serve()`, or in a thread for the length of a `with` block."""

    def __init__(
        self,
        app: "ASGIApp",
        *,
        port: int = 0,
        host: str = "127.0.0.1",
        path: Path | None = None,
        **settings: Any,
    ) -> None:
        """Bind the port; 0 is any free one. `settings` are uvicorn's, such as `ssl_certfile`.

        With `path` it is a Unix socket there in place of a port, which only our user may use.

        Raises:
            OSError: the port cannot be bound.
        """
        self._socket = socket.socket(socket.AF_INET if path is None else socket.AF_UNIX)
        self.port = 0
        try:
            if path is None:
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                self._socket.bind((host, port))
                self.port = self._socket.getsockname()[1]
            else:
                _bind_at(self._socket, path)
            self._socket.listen(128)
        except OSError:
            self._socket.close()
            raise
        usual: dict[str, Any] = {
            "log_level": "error",
            "log_config": None,  # the default one closes all handlers of this process
            "lifespan": "off",
            "timeout_graceful_shutdown": 5,
        }
        config = uvicorn.Config(app, date_header=False, server_header=False, **usual | settings)
        self._server = uvicorn.Server(config)
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The address for clients on this machine."""
        return f"http://localhost:{self.port}"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self.serve, daemon=True)
        self._thread.start()
        end = time.monotonic() + _START_SECONDS
        while not self._server.started and self._thread.is_alive() and time.monotonic() < end:
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self._thread is not None:
            self._thread.join(_END_SECONDS)

    def serve(self) -> None:
        """Serve until `stop()`."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()

    def drain(self, seconds: float) -> None:
        """Wait until no client is connected; those that are left after `seconds` count no longer."""
        end, connections = time.monotonic() + seconds, self._server.server_state.connections
        while connections and time.monotonic() < end:
            time.sleep(0.01)
        connections.clear()  # uvicorn raises for a WebSocket that is being closed

    def stop(self) -> None:
        """Finish the open requests, then end `serve()`."""
        self._server.should_exit = True


def _bind_at(listener: socket.socket, path: Path) -> None:
    """Bind a Unix socket at a path of any length, readable and writable for our user."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        listener.bind(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)
    path.chmod(0o600)
