"""Run a campaign as an agent of MLE-bench, in its container's folders.

    /home/data/                  read-only: what `prepare` made public, description.md among it
    /home/submission/            submission.csv, the only file that is graded
    /home/logs/  /home/code/     what is kept beside it
    /home/agent/                 ours

The places are told by SUBMISSION_DIR, LOGS_DIR, CODE_DIR and AGENT_DIR, the data by DATA_DIR, the
competition by COMPETITION_ID and the time in seconds by TIME_LIMIT_SECS. Arguments are passed on to
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

from comind.campaign.folder import CampaignFolder
from comind.campaign.loop import read_state
from comind.errors import ComindError, UsageError
from comind.evaluation.benchmark.catalog import find_benchmark_competition
from comind.evaluation.benchmark.prepared import adapt

__all__ = ["Places", "main", "run"]

_LOOK = 2.0  # seconds between two looks for a better submission
_SPARE = 0.05  # of the time, for starting and ending; at most:
_SPARE_SECONDS = 300.0
_DAY = 86_400.0


@dataclass(frozen=True)
class Places:
    """What MLE-bench tells an agent."""

    competition: str
    data: Path
    submission: Path
    logs: Path
    code: Path
    agent: Path
    seconds: float

    @classmethod
    def told(cls, environment: Mapping[str, str]) -> "Places":
        """Read the environment of the container.

        Raises:
            UsageError: the competition is not named, or the time is no number of seconds.
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
        """Time for the campaign itself."""
        return (self.seconds - min(_SPARE * self.seconds, _SPARE_SECONDS)) / 60


def run(places: Places, arguments: Sequence[str] = ()) -> int:
    """Solve the competition in the container's data; returns the exit code of `comind solve`.

    The best submission so far is copied whenever there is a better one; whoever ends us finds it.

    Raises:
        CompetitionError: the data have no form that a campaign can work on.
    """
    began = time.monotonic()
    entry = find_benchmark_competition(places.competition)
    for folder in (places.submission, places.logs, places.code, places.agent):
        folder.mkdir(parents=True, exist_ok=True)
    competition = places.agent / "competition" / entry.id
    if not competition.is_dir():  # a container that is started again goes on with the same folder
        competition = adapt(places.data, entry, places.agent / "competition")
    project = places.agent / "project"
    left = places.minutes - (time.monotonic() - began) / 60
    command = [sys.executable, "-m", "flows.cli", "solve", str(competition), "--out", str(project)]
    command += ["--minutes", f"{max(left, 0.1):.2f}", "--community", "none", "--json", *arguments]
    with (
        (places.logs / "comind.log").open("w") as log,
        (places.logs / "comind.json").open("w") as answer,
    ):
        solving = subprocess.Popen(command, stdout=answer, stderr=log)
        try:
            while solving.poll() is None:
                _hand_in(project, places)
                time.sleep(_LOOK)
        finally:
            if solving.poll() is None:
                solving.terminate()
            _hand_in(project, places)
    _keep(project, places)
    return solving.returncode


def _campaign(project: Path) -> CampaignFolder | None:
    """Return the newest campaign of the project."""
    runs = sorted((project / "runs").glob("*/log.jsonl"), key=lambda path: path.stat().st_mtime)
    return CampaignFolder(runs[-1].parent) if runs else None


def _hand_in(project: Path, places: Places) -> None:
    """Copy the best submission so far, whole or not at all."""
    folder = _campaign(project)
    if folder is None or not folder.submission.is_file():
        return
    target = places.submission / "submission.csv"
    if target.is_file() and target.read_bytes() == folder.submission.read_bytes():
        return
    partly = target.with_suffix(".part")
    shutil.copyfile(folder.submission, partly)
    partly.replace(target)


def _keep(project: Path, places: Places) -> None:
    """Copy journal, log and the picked code to where MLE-bench collects them."""
    folder = _campaign(project)
    if folder is None:
        return
    for source, target in ((folder.journal, "agent.log"), (folder.log, "campaign.jsonl")):
        if source.is_file():
            shutil.copyfile(source, places.logs / target)
    state = read_state(folder)
    delivered = state.delivered()
    if delivered is not None and delivered.outcome is not None:
        (places.code / "train.py").write_text(delivered.outcome.code, encoding="utf-8")
    metadata: dict[str, Any] = {
        "campaign": folder.name,
        "agent": state.spec.agent,
        "model": state.spec.model,
        "track": "closed",
        "internet_access": False,
        "test_feedback": "none",
    }
    (places.logs / "metadata.json").write_text(json.dumps(metadata, indent=2) + "\n", encoding="utf-8")


def main() -> int:
    """Run in the environment as it is; what is wrong is one line."""
    try:
        return run(Places.told(os.environ), sys.argv[1:])
    except ComindError as error:
        hint = f"\n        {error.hint}" if error.hint else ""
        sys.stderr.write(f"comind: {error}{hint}\n")
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
