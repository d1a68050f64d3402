"""A mail server that keeps what it receives."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        self._say("220 ready")
        for line in self.rfile:
            match line.split()[0].upper():
                case b"DATA":
                    self._say("354 go ahead")
                    message = b"".join(iter(self.rfile.readline, b".\r\n"))
                    self.server.messages.append(message.decode())  # type: ignore[attr-defined]
                    self._say("250 kept")
                case b"QUIT":
                    return self._say("221 bye")
                case _:
                    self._say("250 ok")
        return None

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@contextmanager
def mail_server() -> Iterator[tuple[int, list[str]]]:
    """Yield the port of a running server, and the list of its messages."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Handler) as server:
        server.messages = []  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1], server.messages  # type: ignore[attr-defined]
        server.shutdown()
