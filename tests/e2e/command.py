"""Run the real command line in a process of its own."""

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mlflow.tracking import MlflowClient

from comind.campaign.log.campaign_folders import ProjectFolder
from tests.e2e.forked import run_forked

SCRIPT = Path(__file__).parent / "script.yaml"
MODEL = f"scripted:{SCRIPT}"
_SECONDS = 280.0


QUIET: list[dict[str, Any]] = [
    {
        "reply": "Analysis",
        "say": {
            "summary": "Nothing.",
            **dict.fromkeys(("novelty", "feasibility", "effectiveness", "efficiency", "confidence"), 0),
        },
    },
    {"reply": "Brainstorm", "say": {"paths": []}},
    {"reply": "Preparation", "say": {"code": ""}},
    {"reply": "AttemptReport", "say": {"summary": "Nothing."}},
    {"reply": "CritiqueReply", "say": {"findings": []}},
    {"reply": "MonitorVerdict", "say": {"stop": False}},
]
"""Rules of a scripted model whose reading and reports say nothing; monitor and critic find nothing."""


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

    A new campaign proves its scripts, and runs them on folds, only where a test asks for it: that runs
    all code once more.
    """
    if arguments[:1] == ("solve",) and "--resume" not in arguments:
        arguments = arguments if prove else (*arguments, "--no-prove")
        arguments = arguments if "--folds" in arguments else (*arguments, "--folds", "0")
        if "--out" in arguments:
            begin_tracking(Path(arguments[arguments.index("--out") + 1]))
    settings = {**os.environ, **env}
    if "PYTHONPATH" in env:  # other modules than ours, which an interpreter has to find when it starts
        done = subprocess.run(  # noqa: PLW1510 - its exit code is what the tests look at
            [sys.executable, "-m", "comind.cli", *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=cwd,
            env=settings,
            timeout=_SECONDS,
        )
        return Ran(done.returncode, done.stdout, done.stderr)
    with tempfile.TemporaryDirectory(prefix="comind-said-") as folder:
        said = Path(folder, "stdout"), Path(folder, "stderr")
        code = run_forked([*map(str, arguments)], cwd, settings, said, seconds=_SECONDS)
        return Ran(code, *(path.read_text() for path in said))


def begin_tracking(project: Path) -> None:
    """Put a database of MLflow's into a new project, where its 68 migrations need not run once more."""
    database = ProjectFolder(project).tracking / "mlflow.db"
    if project.is_dir() and not database.parent.exists():
        database.parent.mkdir()
        shutil.copyfile(_empty_database(), database)


@cache
def _empty_database() -> Path:
    """Return a database as MLflow makes it; once a process, which keeps it to its end."""
    path = Path(tempfile.mkdtemp(prefix="comind-mlflow-")) / "mlflow.db"
    atexit.register(shutil.rmtree, path.parent, ignore_errors=True)
    MlflowClient(tracking_uri=f"sqlite:///{path}").search_experiments()
    return path


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
