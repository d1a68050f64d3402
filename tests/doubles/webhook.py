"""A webhook that keeps what it receives."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Webhook:
    """URL of a running webhook, as alerts take it, and the JSON objects that it got."""

    url: str
    got: list[dict[str, Any]] = field(default_factory=list)

    @property
    def events(self) -> list[str]:
        """The events of the alerts, in order."""
        return [each["event"] for each in self.got]


@contextmanager
def webhook(statuses: Sequence[int] = ()) -> Iterator[Webhook]:
    """Yield a webhook that answers with these statuses in turn, then with 200."""
    answers = list(statuses)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(answers.pop(0) if answers else 200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        received = Webhook(f"json://127.0.0.1:{server.server_address[1]}/secret-path")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield received
        server.shutdown()
