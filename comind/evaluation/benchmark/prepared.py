"""Folders that MLE-bench prepared, read as they are, and brought into the form of our own.

<id>/prepared/public/      what an agent sees
<id>/prepared/private/     answers
"""

import os
import shutil
from pathlib import Path

import pandas as pd
import yaml

from comind.domain.problem import AnswerKind
from comind.errors import CompetitionError
from comind.evaluation.benchmark.catalog import (
    BenchmarkCompetition,
    Mode,
    find_benchmark_competition,
    metric_of,
)
from comind.evaluation.benchmark.ground_truth import read_answers, targets_of
from comind.evaluation.csv_tables import read_header, read_table, write_table
from comind.system.files import staged_folder

__all__ = ["PreparedFolder", "adapt"]

_ANSWERS = ("answers.csv", "test.csv")
_LABELS = ("train.csv", "train_labels.csv", "labels.csv", "train_ground_truth.csv")


class PreparedFolder:
    """One competition as MLE-bench's `prepare` leaves it."""

    def __init__(self, root: Path, entry: BenchmarkCompetition) -> None:
        """Take `<id>/prepared`."""
        self.root = root
        self.public = root / "public"
        """What an agent sees."""
        self.entry = entry

    @classmethod
    def find(cls, path: Path, name: str | None = None) -> "PreparedFolder | None":
        """Return the prepared competition that `path` (or `<path>/<name>`) is, or None.

        A folder is one if it has `prepared/public`, or is such a `prepared` itself.
        """
        for folder in (path / name, path) if name else (path,):
            for root in (folder / "prepared", folder):
                if root.name == "prepared" and (root / "public").is_dir():
                    return cls(root, find_benchmark_competition(name or root.parent.name))
        return None

    @property
    def answers(self) -> Path:
        """The file of the answers.

        Raises:
            CompetitionError: there is none.
        """
        names = (self.entry.answers,) if self.entry.answers else _ANSWERS
        for name in names:
            if (self.root / "private" / name).is_file():
                return self.root / "private" / name
        raise CompetitionError(
            f"{self.root / 'private'}: has no {' or '.join(names)}",
            hint=f"prepare it with: mlebench prepare -c {self.entry.id}",
        )

    @property
    def sample(self) -> Path:
        """The sample submission, which a few competitions have among the answers.

        Raises:
            CompetitionError: there is none.
        """
        for folder in ("public", "private"):
            if (self.root / folder / self.entry.sample).is_file():
                return self.root / folder / self.entry.sample
        raise CompetitionError(f"{self.public}: has no {self.entry.sample}")


def adapt(public: Path, entry: BenchmarkCompetition, out: Path, answers: Path | None = None) -> Path:
    """Make a competition folder of ours from what an agent sees of a benchmark's competition.

    Files are linked where the file system allows it, else copied. Where the data have no test.csv of
    their own (its rows are files), one is written that names them. Without a metric that can be computed
    from train.csv alone, none is named, and the model writes the evaluator.

    Nothing is written to `public`; the true answers, where they are at hand, go to private/.

    Raises:
        CompetitionError: there is no table with labels, or no sample submission.
    """
    labels = next((public / name for name in _LABELS if (public / name).is_file()), None)
    if labels is None:
        raise CompetitionError(
            f"{public}: has no table of labels ({', '.join(_LABELS)})",
            hint="such a competition needs an agent that reads its files as they are",
        )
    sample = public / entry.sample
    if not sample.is_file():
        raise CompetitionError(f"{public}: has no {entry.sample}")
    folder = out / entry.id
    if folder.exists():
        raise CompetitionError(f"{folder}: is there already", hint="name another place")
    with staged_folder(folder) as staged:
        _fill(staged, public, entry, {labels.name: "train.csv", sample.name: "sample_submission.csv"})
        if answers is not None:
            (staged / "private").mkdir()
            write_table(_answers(entry, answers, staged / "public"), staged / "private" / "answers.csv")
    return folder


def _fill(folder: Path, public: Path, entry: BenchmarkCompetition, taken: dict[str, str]) -> None:
    """Lay out data and description; `taken` are the files that go by another name."""
    for path in sorted(path for path in public.rglob("*") if path.is_file()):
        relative = path.relative_to(public)
        _place(path, folder / "public" / taken.get(str(relative), str(relative)))
    if not (folder / "public" / "test.csv").is_file():  # its rows are those that the sample asks for
        sample = read_table(folder / "public" / "sample_submission.csv", CompetitionError)
        write_table(sample[list(entry.ids)], folder / "public" / "test.csv")
    (folder / "competition.yaml").write_text(
        yaml.safe_dump(_described(entry, folder / "public"), sort_keys=False), encoding="utf-8"
    )


def _place(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target, follow_symlinks=True)
    except OSError:
        shutil.copyfile(source, target)


def _described(entry: BenchmarkCompetition, public: Path) -> dict[str, object]:
    train, test = (read_header(public / name) for name in ("train.csv", "test.csv"))
    sample = read_header(public / "sample_submission.csv")
    targets = [name for name in sample if name not in entry.ids]
    labels = [name for name in targets if name in train]
    if not labels:  # one column of classes, which the submission spreads over columns
        labels = [name for name in train if name not in test]
    if not labels:
        raise CompetitionError(f"{public}: no column of train.csv is a label")
    described = {
        "id": entry.id,
        "title": entry.id.replace("-", " "),
        "kind": entry.category,
        "id_columns": list(entry.ids),
        "label_columns": labels,
        "target_columns": targets,
        "leaderboard_comparable": False,  # the test rows are a part of Kaggle's train.csv
    }
    metric = metric_of(entry, Mode.KAGGLE)
    others = entry.context or entry.scored_rows or entry.unscored or entry.truth
    spread = len(labels) == 1 and metric.kind is AnswerKind.CLASS_PROBABILITIES
    if not others and entry.answers_are == "rows" and (set(targets) <= set(labels) or spread):
        described["metric"] = metric.name
    return described


def _answers(entry: BenchmarkCompetition, path: Path, public: Path) -> pd.DataFrame:
    """Return the answers with a submission's columns."""
    table = read_answers(entry, path)
    columns = read_header(public / "sample_submission.csv")
    missing = [name for name in (*entry.ids, *targets_of(entry, table)) if name not in table.columns]
    if missing or set(columns) - set(table.columns):
        raise CompetitionError(f"{path}: has not the columns of a submission ({', '.join(columns)})")
    kind = metric_of(entry, Mode.KAGGLE).kind
    if kind is AnswerKind.CLASS_PROBABILITIES and len(columns) == len(entry.ids):
        raise CompetitionError(f"{path}: has no class columns")
    return table[columns]
