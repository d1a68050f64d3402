"""Send to a service what docs/security.md says that it refuses."""

import contextlib
import re
import socket
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx
import psutil

__all__ = ["check_service", "read_services"]

_PAGE = Path(__file__).parents[1] / "docs" / "security.md"
_HALF_SENT = 30
_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_SENT_BYTES = 2 << 20  # at most, of a body that is too large


class Service(NamedTuple):
    """A row of the table: a status, where a cell begins with one, else text."""

    started_by: str
    listens_at: str
    other_host: str
    other_origin: str
    no_password: str
    large_body: str


def read_services() -> dict[str, Service]:
    """Return the rows of the table of services by name."""
    lines = iter(_PAGE.read_text(encoding="utf-8").splitlines())
    next(line for line in lines if line.startswith("| service |"))
    next(lines)
    rows = {}
    for line in lines:
        if not line.startswith("|"):
            break
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        rows[name] = Service(*cells)
    return rows


def check_service(name: str, url: str, method: str = "GET") -> None:
    """Assert each cell of a service's row by requests to `url`, one that the service answers."""
    row, parts = read_services()[name], urlsplit(url)
    assert parts.hostname
    assert parts.port
    listening = {
        each.laddr.ip
        for each in psutil.net_connections("tcp")
        if each.status == psutil.CONN_LISTEN and each.laddr.port == parts.port
    }
    assert listening == {row.listens_at.split()[0].rstrip(",")}
    own = f"{parts.scheme}://{parts.netloc}"
    preflight = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x"}
    with contextlib.ExitStack() as stack:
        for number in range(_HALF_SENT):
            half = stack.enter_context(
                socket.create_connection((parts.hostname, parts.port), timeout=30)
            )
            if number % 3:
                head = f"{method} {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\n"
                half.sendall(head.encode() + b"Content-Length: 9\r\n\r\nx" * (number % 3 - 1))
        client = stack.enter_context(httpx.Client(verify=False, trust_env=False, timeout=30))
        cells = {
            row.no_password: [{}, {"Authorization": "Basic Y29taW5kOmNvbWluZA=="}],
            row.other_host: [{"Host": "evil.example"}, {"Host": "evil.example", "Origin": own}],
            row.other_origin: [{"Origin": each} for each in ("http://evil.example", "null", own + "1")],
        }
        for cell, requests in cells.items():
            if cell[:3].isdigit():
                for headers in requests:
                    answer = client.request(method, url, headers=headers)
                    assert answer.status_code == int(cell[:3]), (name, headers, answer.text)
                    assert "access-control-allow-origin" not in answer.headers
        asked = client.options(url, headers={"Origin": "http://evil.example"} | preflight)
        assert (asked.status_code // 100, asked.headers.get("access-control-allow-origin")) == (4, None)
        if found := re.match(r"413 over (\d+) (\w+)", row.large_body):
            size = int(found[1]) * _UNITS[found[2]] + 1
            assert _status_of_body(url, size) == 413


def _status_of_body(url: str, size: int) -> int:
    """Return the status for a body of `size` bytes, of which no more is sent than the limit of most."""
    parts = urlsplit(url)
    head = f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Length: {size}\r\n\r\n"
    with socket.create_connection((str(parts.hostname), parts.port or 0), timeout=30) as connection:
        connection.sendall(head.encode())
        with contextlib.suppress(OSError):  # it was refused before
            connection.sendall(b"x" * min(size, _SENT_BYTES))
        return int(connection.recv(64).split()[1])
