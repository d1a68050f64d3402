"""Run a stage of `dvc.yaml` in the project folder: `python -m flows.stages prepare|solve|evaluate`."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from comind.evaluation.competition_folder import load_competition
from comind.evaluation.splits.split_files import make_split
from comind.system.files import copy_plain_tree, write_atomically
from comind.wiring.competition_data import write_checks
from flows.cli.paths import find_competition
from flows.params import read_params

__all__ = ["main"]

_PREPARED = Path("data/prepared")
_SOLVED = Path("data/solved")
_EVALUATED = Path("data/evaluated")


def _prepare() -> None:
    """Split the competition of `params.yaml`; public and sealed part are separate outputs."""
    params = read_params(Path.cwd()).prepare
    competition = load_competition(find_competition(params.competition, Path.cwd()))
    split = make_split(competition, Path("data/splits"), seed=params.seed, checks=write_checks)
    for part in (split.public, split.sealed):
        shutil.rmtree(_PREPARED / part.name, ignore_errors=True)
        copy_plain_tree(part, _PREPARED / part.name)


def _solve() -> None:
    """Run a campaign with the parameters of the section `solve`."""
    competition = read_params(Path.cwd()).prepare.competition
    answer = _comind("solve", competition)
    write_atomically(_SOLVED / "submission.csv", Path(answer["submission"]).read_bytes())
    kept = ("validation_score", "attempts", "valid_attempts", "seconds", "tokens", "usd")
    write_atomically(_SOLVED / "metrics.json", json.dumps({key: answer[key] for key in kept}))


def _evaluate() -> None:
    """Grade the submission on the true answers, where the competition has them."""
    competition = read_params(Path.cwd()).prepare.competition
    answer = _comind("grade", competition, str(_SOLVED / "submission.csv"))
    kept = ("score", "rank", "win_rate")
    write_atomically(_EVALUATED / "metrics.json", json.dumps({key: answer[key] for key in kept}))


def _comind(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "flows.cli", *arguments, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def main() -> None:
    """Run the stage that the first argument names."""
    {"prepare": _prepare, "solve": _solve, "evaluate": _evaluate}[sys.argv[1]]()


if __name__ == "__main__":
    main()
