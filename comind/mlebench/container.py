"""Run a campaign as an agent of MLE-bench, in its container's folders.

    /home/data/                  read-only: the public data of `mlebench prepare`, with description.md
    /home/submission/            submission.csv, the only file that is graded
    /home/logs/  /home/code/     further outputs
    /home/agent/                 the agent's own files

SUBMISSION_DIR, LOGS_DIR, CODE_DIR, AGENT_DIR and DATA_DIR override these paths; COMPETITION_ID and
TIME_LIMIT_SECS (default: a day) are read from the environment. Arguments are passed on to
`comind solve`.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.loop import read_state
from comind.errors import ComindError, UsageError
from comind.mlebench.catalog import find_benchmark_competition
from comind.mlebench.prepared import adapt
from comind.system.files import write_atomically

_POLL_SECONDS = 2.0  # between two checks for a better submission
_RESERVE = 0.05  # share of the time limit for start and end, up to:
_RESERVE_SECONDS = 300.0
_DAY = 86_400.0


@dataclass(frozen=True)
class ContainerPaths:
    """The competition, the folders and the time limit that MLE-bench sets for an agent."""

    competition: str
    data: Path
    submission: Path
    logs: Path
    code: Path
    agent: Path
    seconds: float

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "ContainerPaths":
        """Read the container's environment variables.

        Raises:
            UsageError: COMPETITION_ID is missing, or TIME_LIMIT_SECS is no positive number.
        """
        if not environment.get("COMPETITION_ID"):
            raise UsageError("COMPETITION_ID is not set", hint="MLE-bench sets it in its containers")
        limit = environment.get("TIME_LIMIT_SECS") or str(_DAY)
        try:
            seconds = float(limit)
        except ValueError:
            seconds = -1.0
        if not 0 < seconds < float("inf"):
            raise UsageError(f"TIME_LIMIT_SECS is {limit!r}, which is no number of seconds")
        names = {"data": "DATA_DIR", "submission": "SUBMISSION_DIR", "logs": "LOGS_DIR"}
        names |= {"code": "CODE_DIR", "agent": "AGENT_DIR"}
        folders = {key: Path(environment.get(name) or f"/home/{key}") for key, name in names.items()}
        return cls(competition=environment["COMPETITION_ID"], seconds=seconds, **folders)

    @property
    def minutes(self) -> float:
        """Time budget of the campaign."""
        return (self.seconds - min(_RESERVE * self.seconds, _RESERVE_SECONDS)) / 60


def run(paths: ContainerPaths, arguments: Sequence[str] = ()) -> int:
    """Solve the container's competition; returns the exit code of `comind solve`.

    The best submission so far is copied as soon as it changes, so that it survives a kill.

    Raises:
        CompetitionError: a campaign does not support the format of the data.
    """
    began = time.monotonic()
    entry = find_benchmark_competition(paths.competition)
    for folder in (paths.submission, paths.logs, paths.code, paths.agent):
        folder.mkdir(parents=True, exist_ok=True)
    competition = paths.agent / "competition" / entry.id
    if not competition.is_dir():  # else the container was restarted
        competition = adapt(paths.data, entry, paths.agent / "competition")
    project = paths.agent / "project"
    left = paths.minutes - (time.monotonic() - began) / 60
    command = [sys.executable, "-P", "-m", "comind.cli", "solve", str(competition)]
    command += ["--out", str(project), "--minutes", f"{max(left, 0.1):.2f}"]
    command += ["--community", "none", "--json", *arguments]
    with (paths.logs / "comind.log").open("w") as log, (paths.logs / "comind.json").open("w") as result:
        solving = subprocess.Popen(command, stdout=result, stderr=log)
        try:
            while solving.poll() is None:
                _copy_submission(project, paths)
                time.sleep(_POLL_SECONDS)
        finally:
            if solving.poll() is None:
                solving.terminate()
            _copy_submission(project, paths)
    _copy_outputs(project, paths)
    return solving.returncode


def _campaign(project: Path) -> CampaignFolder | None:
    """Return the newest campaign of the project, or None."""
    runs = sorted((project / "runs").glob("*/log.jsonl"), key=lambda path: path.stat().st_mtime)
    return CampaignFolder(runs[-1].parent) if runs else None


def _copy_submission(project: Path, paths: ContainerPaths) -> None:
    """Copy the best submission so far with an atomic write."""
    folder = _campaign(project)
    if folder is None or not folder.submission.is_file():
        return
    content, target = folder.submission.read_bytes(), paths.submission / "submission.csv"
    if not target.is_file() or target.read_bytes() != content:
        write_atomically(target, content)


def _copy_outputs(project: Path, paths: ContainerPaths) -> None:
    """Copy journal, log and final code to the folders that MLE-bench collects."""
    folder = _campaign(project)
    if folder is None:
        return
    for source, target in ((folder.journal, "agent.log"), (folder.log, "campaign.jsonl")):
        if source.is_file():
            shutil.copyfile(source, paths.logs / target)
    state = read_state(folder)
    delivered = state.delivered()
    if delivered is not None and delivered.outcome is not None:
        (paths.code / "train.py").write_text(delivered.outcome.code, encoding="utf-8")
    metadata: dict[str, Any] = {
        "campaign": folder.name,
        "agent": state.spec.agent,
        "model": state.spec.model,
        "track": "closed",
        "internet_access": False,
        "test_feedback": "none",
    }
    (paths.logs / "metadata.json").write_text(json.dumps(metadata, indent=2) + "\n", encoding="utf-8")


def main() -> int:
    """Run with the process's environment and arguments; prints an error as one line."""
    try:
        return run(ContainerPaths.from_environment(os.environ), sys.argv[1:])
    except ComindError as error:
        hint = f"\n        {error.hint}" if error.hint else ""
        sys.stderr.write(f"comind: {error}{hint}\n")
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
