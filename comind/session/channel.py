"""Exchange frames with a session's driver over a Unix socket; the driver is untrusted.

A frame is one byte of type, four of the cell's number, four of length, then text. Length and bytes per
second are limited, so the other end can exhaust neither memory nor processor time.
"""

import select
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from comind.session.inside.driver import FRAME_BYTES, HEADER

_SEND_SECONDS = 20.0
_CHUNK = 1 << 16
_BYTES_A_SECOND = 16 << 20
_POLL_SECONDS = 0.1


class ChannelError(Exception):
    """The other end disconnected, timed out or violates the protocol; the channel is unusable."""


class Frame(NamedTuple):
    """A frame of the driver."""

    type: bytes
    number: int
    """Number of its cell."""
    text: str


class Listener:
    """A socket that accepts one connection."""

    def __init__(self, path: Path) -> None:
        """Listen at `path`."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(str(path))
        path.chmod(0o600)
        self._socket.listen(1)
        self._socket.settimeout(_POLL_SECONDS)

    def accept(self, check: Callable[[], None]) -> "Channel":
        """Return the channel of the first connection; call `check` every 0.1 s, which may raise."""
        while True:
            try:
                connection, _ = self._socket.accept()
            except TimeoutError:
                check()
            else:
                self.close()
                return Channel(connection)

    def close(self) -> None:
        """Stop listening."""
        self._socket.close()


class Channel:
    """A connection that sends and receives frames."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._socket.setblocking(False)
        self._buffer = bytearray()
        self._window = time.monotonic()
        self._taken = 0

    def send(
        self, frame_type: bytes, number: int, text: str = "", *, seconds: float = _SEND_SECONDS
    ) -> None:
        """Send a frame.

        Raises:
            ChannelError: the other end disconnected or did not read it within `seconds`.
        """
        data = text.encode("utf-8", "replace")
        left = memoryview(HEADER.pack(frame_type, number, len(data)) + data)
        end = time.monotonic() + seconds
        while left:
            try:
                left = left[self._socket.send(left) :]
            except BlockingIOError:
                if time.monotonic() > end:
                    raise ChannelError("the session does not listen") from None
                self._ready(_POLL_SECONDS, select.POLLOUT)
            except OSError:
                raise ChannelError("the session closed its connection") from None

    def receive(self, seconds: float) -> Frame | None:
        """Return the next frame; None if it is not complete within `seconds`.

        Raises:
            ChannelError: the other end disconnected or sent a malformed frame.
        """
        end = time.monotonic() + seconds
        while True:
            frame = self._next_frame()
            if frame is not None:
                return frame
            left = end - time.monotonic()
            if not self._ready(max(left, 0.0)):
                return None
            self._read()
            if left <= 0:
                return self._next_frame()  # also when a frame arrives byte by byte

    def close(self) -> None:
        """Disconnect."""
        self._socket.close()

    def _ready(self, seconds: float, event: int = select.POLLIN) -> bool:
        # poll, as select is limited to descriptors below 1024
        poll = select.poll()
        poll.register(self._socket, event)
        return bool(poll.poll(1000 * seconds))

    def _read(self) -> None:
        now = time.monotonic()
        if now - self._window >= 1:
            self._window, self._taken = now, 0
        if self._taken > _BYTES_A_SECOND:
            time.sleep(min(0.05, self._window + 1 - now))  # throttle a flood
            return
        try:
            data = self._socket.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            raise ChannelError("the session closed its connection")
        self._taken += len(data)
        self._buffer += data

    def _next_frame(self) -> Frame | None:
        if len(self._buffer) < HEADER.size:
            return None
        frame_type, number, length = HEADER.unpack_from(self._buffer)
        if length > FRAME_BYTES:
            raise ChannelError("the session's messages are not in order")
        end = HEADER.size + length
        if len(self._buffer) < end:
            return None
        text = self._buffer[HEADER.size : end].decode("utf-8", "replace")
        del self._buffer[:end]
        return Frame(frame_type, number, text)
