"""Drive Chromium without a window through its DevTools protocol."""

import base64
import contextlib
import itertools
import json
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

__all__ = ["CHROMIUM", "Tab", "open_tab"]

CHROMIUM = Path("/usr/bin/chromium")
_SECONDS = 60.0
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--remote-debugging-port=0",
)


class Tab:
    """One page of the browser."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._ids = itertools.count(1)
        self.events: list[dict[str, Any]] = []
        """What the browser reported besides answers: console messages, requests, violations."""
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **params: object) -> dict[str, Any]:
        """Send one command and return its result."""
        number = next(self._ids)
        self._connection.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            answer = json.loads(self._connection.recv(timeout=_SECONDS))
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def open(self, address: str) -> None:
        """Load a page, and return when it is complete."""
        self.send("Page.navigate", url="about:blank")
        self.send("Page.navigate", url=address)
        self.until("location.href != 'about:blank' && document.readyState == 'complete'")

    def until(self, script: str, wanted: object = True) -> None:
        """Wait until a JavaScript expression has the value that is wanted."""
        deadline = time.monotonic() + _SECONDS
        while (found := self.value(script)) != wanted:
            assert time.monotonic() < deadline, f"{script} is {found!r}, not {wanted!r}"
            time.sleep(0.02)

    def value(self, script: str) -> Any:
        """Return the value of a JavaScript expression."""
        found = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def press(self, key: str, code: int) -> None:
        """Press a key, such as Enter (13)."""
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            values = {"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}
            self.send("Input.dispatchKeyEvent", **values, **(text if kind == "keyDown" else {}))

    def resize(self, width: int, height: int, *, dark: bool = False) -> None:
        """Set size and colour scheme of the screen."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.send("Emulation.setDeviceMetricsOverride", **metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, file: Path) -> None:
        """Write a PNG of what is on the screen."""
        file.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))


@contextlib.contextmanager
def open_tab() -> Iterator[Tab]:
    """Start a browser and yield its page."""
    with tempfile.TemporaryDirectory(prefix="comind-browser-", ignore_cleanup_errors=True) as profile:
        browser = subprocess.Popen(
            [CHROMIUM, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            with connect(_address(Path(profile)), max_size=None) as connection:
                yield Tab(connection)
        finally:
            browser.kill()
            browser.wait()


def _address(profile: Path) -> str:
    """Return the address of the first page, once the browser has written its port."""
    deadline, file = time.monotonic() + _SECONDS, profile / "DevToolsActivePort"
    while not file.exists() or not file.read_text().strip():
        assert time.monotonic() < deadline, "the browser does not start"
        time.sleep(0.02)
    port = file.read_text().split()[0]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=_SECONDS) as answer:
        pages = [each for each in json.loads(answer.read()) if each["type"] == "page"]
    return str(pages[0]["webSocketDebuggerUrl"])
