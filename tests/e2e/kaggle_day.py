"""A program: serve the demos on port 80 and let the official `kaggle` command live through a day there.

Run in a network namespace of its own, where port 80 is free. Takes a project folder and a file with
commands as JSON lists; prints, as JSON, how each ended.
"""

import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1
_FIRST_TOPIC = "FIRST-TOPIC"
"""In a command, stands for the number of the topic that was listed first."""


def wake_loopback() -> None:
    """Switch the loopback device on, which is off in a new namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh", b"lo", 0)
        (flags,) = struct.unpack("16xh", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request)[:18])
        if not flags & _IFF_UP:
            fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh", b"lo", flags | _IFF_UP))


def main(project: Path, commands: list[list[str]]) -> dict[str, Any]:
    """Return how the server and each command ended."""
    wake_loopback()
    serve = ["live", "serve", "--port", "80", "--scores", "public", "--json", "--out", str(project)]
    serve += ["--as-of", "2023-05-20T14:00:00Z"]
    command = [sys.executable, "-m", "comind.cli", *serve]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            told = json.loads(server.stdout.readline())
            results = _run_all(project, commands)
            server.send_signal(signal.SIGTERM)
            code = server.wait(30)
        finally:
            server.kill()
    return {"served": told, "commands": results, "server_exit_code": code}


def _run_all(project: Path, commands: list[list[str]]) -> list[dict[str, Any]]:
    env = {
        **os.environ,
        "HOME": str(project),
        "KAGGLE_API_ENVIRONMENT": "LOCALHOST",
        "KAGGLE_CONFIG_DIR": str(project / "kaggle"),
        "KAGGLE_USERNAME": "ann",
        "KAGGLE_KEY": "any",
    }
    kaggle = str(Path(sys.executable).with_name("kaggle"))
    results: list[dict[str, Any]] = []
    topic = ""
    for command in commands:
        arguments = [topic if word == _FIRST_TOPIC else word for word in command]
        done = subprocess.run(
            [kaggle, *arguments],
            capture_output=True,
            text=True,
            cwd=project,
            env=env,
            timeout=60,
            check=False,
        )
        if "topics" in command and not topic:
            topic = done.stdout.splitlines()[1].split(",")[0]
        results.append({"code": done.returncode, "stdout": done.stdout, "stderr": done.stderr})
    return results


if __name__ == "__main__":
    ended = main(Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text()))
    sys.stdout.write(json.dumps(ended))
