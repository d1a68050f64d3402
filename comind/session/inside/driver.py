"""Connect the host to a Jupyter kernel from inside the sandbox.

    python driver.py SOCKET KERNEL_PROGRAM

It starts the kernel, speaks Jupyter's protocol with it, and sends the results of each cell to the host
over one Unix socket, in frames: one byte of type, four of the cell's number, four of length, then text.
Output beyond the maximum length of a frame is truncated here, so the host parses nothing and takes no
flood. It exits with the kernel's exit code. Code in the sandbox can replace this program, so the host
does not trust it either.
"""

import contextlib
import json
import os
import secrets
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

FRAME_BYTES = 1 << 18  # maximum length of a frame's text
HEADER = struct.Struct("!cII")

EXECUTE, INTERRUPT = b"X", b"I"  # from the host
READY, BEGUN, OUTPUT, ERROR, DONE, GONE = b"R", b"B", b"O", b"E", b"D", b"G"  # to the host

_PORTS = ("shell_port", "iopub_port", "stdin_port", "hb_port", "control_port")
_PENDING_BYTES = 1 << 17  # maximum of unsent output
_FLUSH_SECONDS = 0.05
_IDLE_SECONDS = 1.0  # from the reply, timeout of the last output
_POLL_MS = 500


class _Pending:
    """Buffer of unsent output, truncated in the middle."""

    def __init__(self) -> None:
        self.head = ""
        self.tail = ""
        self.cut = 0

    def add(self, text: str) -> None:
        half = _PENDING_BYTES // 2
        space = half - len(self.head)
        self.head += text[:space]
        self.tail += text[space:]
        if len(self.tail) > 2 * half:
            self.cut += len(self.tail) - half
            self.tail = self.tail[-half:]

    def take(self) -> str:
        gap = f"\n... ({self.cut} characters left out) ...\n" if self.cut else ""
        text = self.head + gap + self.tail
        self.head, self.tail, self.cut = "", "", 0
        return text


class Driver:
    """Connects one kernel and one host."""

    def __init__(self, address: str, kernel: str) -> None:
        """Connect to the host and start the kernel."""
        self._host = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._host.connect(address)
        self._key = secrets.token_hex(32)
        folder = address.rpartition("/")[0]
        self._sockets = f"{folder}/k"
        connection = {
            "ip": self._sockets,
            "transport": "ipc",
            "key": self._key,
            "signature_scheme": "hmac-sha256",
            **{port: number for number, port in enumerate(_PORTS, start=1)},
        }
        path = f"{folder}/c.json"
        with open(path, "w") as file:
            json.dump(connection, file)
        self._wake, wake_end = os.pipe()
        os.set_blocking(wake_end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._kernel = subprocess.Popen(
            [sys.executable, "-P", kernel, "-f", path], stdin=subprocess.DEVNULL, process_group=0
        )
        self._number = 0
        self._request = ""
        self._running = False
        self._replied: tuple[float, str] | None = None
        self._pending = _Pending()
        self._flushed = 0.0

    def run(self) -> int:
        """Serve the host until the kernel exits; return its exit code."""
        # Imported while the kernel starts.
        import zmq
        from jupyter_client.session import Session

        # JSON can encode any text, also lone surrogates.
        self._session = Session(key=self._key.encode(), packer="json", unpacker="json")
        while not all(Path(f"{self._sockets}-{number}").exists() for number in range(1, 6)):
            if self._kernel.poll() is not None:
                return self._code()
            time.sleep(0.01)
        context = zmq.Context()
        self._shell = context.socket(zmq.DEALER)
        self._iopub = context.socket(zmq.SUB)
        self._iopub.rcvhwm = 0
        self._iopub.subscribe(b"")
        gone = self._shell.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        self._shell.connect(f"ipc://{self._sockets}-1")
        self._iopub.connect(f"ipc://{self._sockets}-2")
        poller = zmq.Poller()
        for source in (self._shell, self._iopub, gone, self._host.fileno(), self._wake):
            poller.register(source, zmq.POLLIN)
        self._wait_ready()
        while self._kernel.poll() is None:
            ready = dict(poller.poll(self._wait_ms()))
            if self._host.fileno() in ready and not self._handle_command():
                break
            for source, handle in ((self._iopub, self._on_iopub), (self._shell, self._on_shell_reply)):
                for parts in self._received(source) if source in ready else ():
                    handle(parts)
            if gone in ready:
                gone.recv_multipart()
                self._on_disconnect()
            if self._wake in ready:
                os.read(self._wake, 64)
                self._resume_kernel()
            self._flush_due()
        self._flush()
        return self._code()

    def _on_disconnect(self) -> None:
        """Kill a kernel that closed its sockets: it cannot answer any more."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._kernel.wait(0.2)  # its sockets also close when it exits
        if self._kernel.poll() is None:
            self._send_frame(GONE, "it closed its own connections, or became another program")
            self._kernel.kill()

    def _resume_kernel(self) -> None:
        """Send SIGCONT to a kernel that was stopped by SIGSTOP, its own or a child's."""
        with contextlib.suppress(ChildProcessError):
            flags = os.WSTOPPED | os.WNOHANG
            if os.waitid(os.P_PID, self._kernel.pid, flags) is not None:
                os.kill(self._kernel.pid, signal.SIGCONT)

    def _code(self) -> int:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._kernel.pid, signal.SIGKILL)
        code = self._kernel.wait()
        return code if code >= 0 else 128 - code

    def _wait_ms(self) -> int:
        return int(1000 * _FLUSH_SECONDS) if self._pending.head or self._replied else _POLL_MS

    @staticmethod
    def _received(source: object) -> Iterator[list[bytes]]:
        import zmq

        for _ in range(200):  # then commands of the host are handled
            try:
                yield source.recv_multipart(zmq.NOBLOCK)  # type: ignore[attr-defined]
            except zmq.Again:
                return

    # --- the host ---------------------------------------------------------------------------------

    def _handle_command(self) -> bool:
        """Read and execute one command of the host; False if the host disconnected."""
        try:
            header = self._receive_exactly(HEADER.size)
            frame_type, number, length = HEADER.unpack(header)
            text = self._receive_exactly(length).decode("utf-8", "replace")
        except (OSError, EOFError):
            return False
        if frame_type == EXECUTE:
            self._pending.take()
            self._number, self._running, self._replied = number, True, None
            content = {
                "code": text,
                "silent": False,
                "store_history": True,
                "user_expressions": {},
                "allow_stdin": False,
                "stop_on_error": False,  # else the cell after a failed one may be aborted
            }
            self._request = self._send("execute_request", content)
        elif frame_type == INTERRUPT and self._running:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._kernel.pid, signal.SIGINT)
        return True

    def _receive_exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self._host.recv(min(count - len(data), 1 << 16))
            if not more:
                raise EOFError
            data += more
        return data

    def _send_frame(self, frame_type: bytes, text: str = "") -> None:
        data = text.encode("utf-8", "replace")
        for start in range(0, max(1, len(data)), FRAME_BYTES):
            part = data[start : start + FRAME_BYTES]
            self._host.sendall(HEADER.pack(frame_type, self._number, len(part)) + part)

    def _flush_due(self) -> None:
        """Send output that has waited long enough, and finish a cell whose last output is overdue."""
        now = time.monotonic()
        if self._replied is not None and now > self._replied[0]:
            self._finish()
        elif now > self._flushed + _FLUSH_SECONDS:
            self._flush()

    def _flush(self) -> None:
        if self._pending.head:
            self._send_frame(OUTPUT, self._pending.take())
        self._flushed = time.monotonic()

    def _finish(self) -> None:
        self._flush()
        status = self._replied[1] if self._replied else "ok"
        self._running, self._replied = False, None
        self._send_frame(DONE, status)

    # --- the kernel -------------------------------------------------------------------------------

    def _wait_ready(self) -> None:
        """Wait for the kernel's first reply."""
        request = self._send("kernel_info_request", {})
        while self._kernel.poll() is None:
            if not self._shell.poll(100):
                continue
            parent, _, _ = self._parse(self._shell.recv_multipart())
            if parent == request:
                self._send_frame(READY)
                return

    def _send(self, message_type: str, content: dict[str, object]) -> str:
        message = self._session.send(self._shell, message_type, content)
        return str(message["header"]["msg_id"])

    def _parse(self, parts: list[bytes]) -> tuple[str, str, dict[str, object]]:
        """Return parent id, type and content of a message; empty values if it is malformed."""
        try:
            _, parts = self._session.feed_identities(parts)
            message = self._session.deserialize(parts)
            parent, message_type = message["parent_header"]["msg_id"], message["msg_type"]
            return str(parent), str(message_type), dict(message["content"])
        except Exception:  # noqa: BLE001 - cells can send arbitrary messages
            return "", "", {}

    def _on_iopub(self, parts: list[bytes]) -> None:
        parent, message_type, content = self._parse(parts)
        if parent != self._request or not self._running:
            return  # output of a thread or child of an earlier cell
        if message_type == "stream":
            self._pending.add(str(content.get("text", "")))
        elif message_type in ("execute_result", "display_data"):
            data = content.get("data")
            text = data.get("text/plain", "") if isinstance(data, dict) else ""
            self._pending.add(f"{text}\n")
        elif message_type == "error":
            lines = content.get("traceback")
            kept = _Pending()
            kept.add("\n".join(map(str, lines)) if isinstance(lines, list) else "")
            self._send_frame(ERROR, kept.take())
        elif message_type == "status":
            if content.get("execution_state") == "busy":
                self._send_frame(BEGUN)
            elif self._replied is not None:
                self._finish()
            else:
                self._replied = (time.monotonic() + _IDLE_SECONDS, "ok")

    def _on_shell_reply(self, parts: list[bytes]) -> None:
        parent, message_type, content = self._parse(parts)
        if parent == self._request and message_type == "execute_reply" and self._running:
            idle = self._replied is not None
            self._replied = (time.monotonic() + _IDLE_SECONDS, str(content.get("status"))[:16])
            if idle:
                self._finish()


if __name__ == "__main__":
    try:
        sys.exit(Driver(sys.argv[1], sys.argv[2]).run())
    except (OSError, EOFError):  # the host disconnected
        sys.exit(1)
