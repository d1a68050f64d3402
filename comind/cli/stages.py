"""Run a stage of `dvc.yaml` in the project folder: `python -P -m comind.cli.stages STAGE [SEED]`."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from comind.app.params import read_params
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.reports.campaign_summary import scores_csv
from comind.campaign.reports.campaign_view import read_view
from comind.competitions.competition_folder import load_competition
from comind.demos.make import DEMOS, make_demo
from comind.splits.split_files import make_split
from comind.splits.split_folder import Split, SplitFolder
from comind.system.files import copy_plain_tree, write_atomically
from comind.system.temporary_folders import staged_folder
from comind.wiring.competition_data import write_checks

_HERE = ProjectFolder(Path.cwd())
_PREPARED = SplitFolder(_HERE.prepared)
_SOLVED = Path("data/solved")
_EVALUATED = Path("data/evaluated")


def _make_demos() -> None:
    """Write the built-in competitions."""
    for name in DEMOS:
        make_demo(name, Path("data/demos"))


def _prepare() -> None:
    """Split the competition of `params.yaml`; public part, sealed part and metadata are the outputs."""
    params = read_params(Path.cwd()).prepare
    competition = load_competition(Path(params.competition).absolute())
    split = make_split(competition, _HERE.splits, seed=params.seed, checks=write_checks)
    for part, target in ((split.public, _PREPARED.public), (split.sealed, _PREPARED.sealed)):
        shutil.rmtree(target, ignore_errors=True)
        copy_plain_tree(part, target)
    write_atomically(_PREPARED.metadata, split.metadata.read_bytes())


def _solve(seed: str) -> None:
    """Run a campaign on the prepared split, with the parameters of the section `solve` and this seed."""
    prepared = _use_prepared_split()
    answer = _comind("solve", read_params(Path.cwd()).prepare.competition, "--seed", seed)
    view = read_view(_HERE.campaign(answer["campaign"]))
    if view.state.split is None or view.state.split.key != prepared:
        sys.exit(f"comind: the competition has changed since data/prepared ({prepared}); run dvc repro")
    target = _SOLVED / seed
    kept = ("campaign", "validation_score", "attempts", "valid_attempts", "seconds", "tokens", "usd")
    write_atomically(target / "metrics.json", json.dumps({key: answer[key] for key in kept}))
    write_atomically(target / "scores.csv", scores_csv(view))


def _use_prepared_split() -> str:
    """Copy the prepared split to where campaigns find theirs, unless it is there; return its key."""
    key = Split.model_validate_json(_PREPARED.metadata.read_text()).key
    split = SplitFolder(_HERE.splits / key)
    for part, source in ((split.sealed, _PREPARED.sealed), (split.public, _PREPARED.public)):
        if not part.is_dir():
            with staged_folder(part) as staged:
                copy_plain_tree(source, staged)
    split.sealed.chmod(0o700)
    write_atomically(split.metadata, _PREPARED.metadata.read_bytes())
    return key


def _evaluate(seed: str) -> None:
    """Grade the submission on the true answers; the score is null where the competition has none."""
    competition = read_params(Path.cwd()).prepare.competition
    kept: dict[str, Any] = dict.fromkeys(("score", "rank", "win_rate"))
    if load_competition(Path(competition).absolute()).has_answers:
        campaign = json.loads((_SOLVED / seed / "metrics.json").read_text())["campaign"]
        answer = _comind("grade", competition, str(_HERE.campaign(campaign).submission))
        kept = {key: answer[key] for key in kept}
    write_atomically(_EVALUATED / seed / "metrics.json", json.dumps(kept))


def _comind(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-P", "-m", "comind.cli", *arguments, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


_STAGES: dict[str, Callable[..., None]] = {
    "demos": _make_demos,
    "prepare": _prepare,
    "solve": _solve,
    "evaluate": _evaluate,
}


def main() -> None:
    """Run the stage that the first argument names, with the others as its arguments."""
    _STAGES[sys.argv[1]](*sys.argv[2:])


if __name__ == "__main__":
    main()
