"""Run by the Python of an environment that has `mlebench`: grade the files of a folder with its graders.

Usage: mlebench_scores.py FOLDER, which holds `<competition>/answers.csv` (or .jsonl) and `<case>.csv`.
Prints one JSON object: competition -> case -> score as MLE-bench computes it, or null where it raises.
"""

import importlib
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

from mlebench.utils import load_answers, read_csv

_LISTS_OF_COLUMNS = ("CLASSES", "DOGS_LIST", "CLASS_NAMES")
_MADE_UP = (
    "dog-breed-identification",
    "leaf-classification",
    "freesound-audio-tagging-2019",
    "google-quest-challenge",
    "spooky-author-identification",
)
"""Competitions whose many columns are replaced by a few."""


def main() -> None:
    """Grade everything."""
    warnings.simplefilter("ignore")
    scores: dict[str, dict[str, float | None]] = {}
    for folder in sorted(Path(sys.argv[1]).iterdir()):
        grader = importlib.import_module(f"mlebench.competitions.{folder.name}.grade")
        answers = next(folder.glob("answers.*"))
        if folder.name in _MADE_UP:
            columns = [str(name) for name in load_answers(answers).columns[1:]]
            for name in _LISTS_OF_COLUMNS:
                if hasattr(grader, name):
                    setattr(grader, name, columns)
        scores[folder.name] = {
            path.stem: _score(grader.grade, path, answers)
            for path in sorted(folder.glob("*.csv"))
            if path.stem != "answers"
        }
    sys.stdout.write(json.dumps(scores, indent=1))


def _score(grade: Callable[..., float], submission: Path, answers: Path) -> float | None:
    try:
        return float(grade(read_csv(submission), load_answers(answers)))
    except Exception:  # noqa: BLE001 - whatever is raised there is an invalid submission there
        return None


if __name__ == "__main__":
    main()
