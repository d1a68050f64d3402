"""Run the real command line in a process of its own."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parent / "script.yaml"
MODEL = f"scripted:{SCRIPT}"


QUIET: list[dict[str, Any]] = [
    {
        "reply": "Analysis",
        "say": {
            "summary": "Nothing.",
            **dict.fromkeys(("novelty", "feasibility", "effectiveness", "efficiency", "confidence"), 0),
        },
    },
    {"reply": "Brainstorm", "say": {"paths": []}},
    {"reply": "AttemptReport", "say": {"summary": "Nothing."}},
]
"""Rules of a scripted model whose reading and reports say nothing."""


@dataclass
class Ran:
    """How a command ended."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> dict[str, Any]:
        """The one object on stdout."""
        return json.loads(self.stdout)

    @property
    def error_lines(self) -> list[str]:
        """What was said on stderr."""
        return [line for line in self.stderr.splitlines() if line.startswith("comind: ")]


def comind(*arguments: str | Path, cwd: Path | None = None, prove: bool = False, **env: str) -> Ran:
    """Run `comind` with `arguments`, in the environment of the tests and `env`.

    A new campaign proves its scripts only where a test asks for it: that runs all code once more.
    """
    if arguments[:1] == ("solve",) and "--resume" not in arguments and not prove:
        arguments = (*arguments, "--no-prove")
    done = subprocess.run(  # noqa: PLW1510 - its exit code is what the tests look at
        [sys.executable, "-m", "flows.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **env},
        timeout=280,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def processes_of(folder: Path) -> list[str]:
    """Return the command lines of all processes that name `folder` in arguments or environment."""
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit() or int(process.name) == os.getpid():
            continue
        try:
            arguments = (process / "cmdline").read_bytes()
            environment = (process / "environ").read_bytes()
        except OSError:
            continue  # it ended meanwhile, or is none of ours
        if str(folder).encode() in arguments + environment:
            found.append(arguments.replace(b"\0", b" ").decode(errors="replace"))
    return found
