"""Part the labelled rows: most of them stay public, the labels of the rest are sealed.

A split is a folder named by its content, with `public/` (what an attempt sees), `sealed/` (what only
the grader sees) and `split.json` (how it was made). The same competition, rule and seed give the
same bytes on every machine: rows are ordered by a hash, not by a library's random numbers.
"""

import hashlib
import json
import math
import shutil
import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import pandas as pd

from comind.domain.competition import SAMPLE_SUBMISSION, Competition, SplitRule
from comind.domain.value import Value
from comind.errors import CompetitionError
from comind.evaluation.metrics import find_metric
from comind.evaluation.tables import read_table
from comind.system.files import copy_plain_tree, hash_tree, write_durably
from comind.system.killpoints import passed

__all__ = ["Split", "SplitFolder", "check_competition", "make_split", "target_columns"]

_LAYOUT = 1  # part of every key: raise it when the same inputs give other files
_TABLES = ("train.csv", "test.csv", "sample_submission.csv")


class Split(Value):
    """How a split was made, and what is in it."""

    key: str
    competition: str
    title: str
    rule: SplitRule
    seed: int
    metric: str
    maximize: bool
    id_columns: tuple[str, ...]
    label_columns: tuple[str, ...]
    target_columns: tuple[str, ...]
    train_rows: int
    validation_rows: int
    test_rows: int
    public_sha256: str
    sealed_sha256: str


class SplitFolder:
    """Where the parts of a split lie."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.public = root / "public"
        self.sealed = root / "sealed"
        self.answers = self.sealed / "validation_answers.csv"
        self.sample = self.public / "sample_submission.csv"
        self.described = root / "split.json"

    def read(self) -> Split:
        """Return how the split was made.

        Raises:
            CompetitionError: there is no finished split in this folder.
        """
        try:
            return Split.model_validate_json(self.described.read_text())
        except (OSError, ValueError):
            raise CompetitionError(f"{self.root}: is not a finished split") from None


def check_competition(competition: Competition) -> None:
    """Make sure that a competition can be split, without writing anything.

    Raises:
        CompetitionError: the folder's files contradict each other or its description.
    """
    plan = _Plan(competition, seed=0)
    plan.check_labels()
    _choose_rows(plan)


def make_split(competition: Competition, splits: Path, *, seed: int) -> SplitFolder:
    """Return the split of `competition` below the folder `splits`; made where it is not there yet.

    Raises:
        CompetitionError: the folder's files contradict each other or its description.
    """
    plan = _Plan(competition, seed)
    folder = SplitFolder(splits / plan.key)
    if folder.described.is_file():
        return folder
    splits.mkdir(parents=True, exist_ok=True)
    staged = SplitFolder(Path(tempfile.mkdtemp(prefix=".new-", dir=splits)))
    try:
        _write(plan, staged)
        staged.root.chmod(0o755)
        try:
            staged.root.rename(folder.root)
        except OSError:
            if not folder.described.is_file():  # else another process was faster with the same bytes
                raise
    finally:
        shutil.rmtree(staged.root, ignore_errors=True)
    passed("split-written")
    return folder


class _Plan:
    """Everything about a split that is decided before a file is written."""

    def __init__(self, competition: Competition, seed: int) -> None:
        self.competition = competition
        self.seed = seed
        self.train, self.test, self.sample = (
            read_table(competition.public / name, CompetitionError) for name in _TABLES
        )
        self.metric = find_metric(competition)
        self.rule = competition.split or SplitRule(kind="random")
        self.targets = target_columns(competition, self.sample)
        self.train_ids = competition.train_id_columns or competition.id_columns
        self._check_columns()

    @cached_property
    def key(self) -> str:
        """Name of the split: the competition and a hash of everything that the split depends on."""
        parts = [_LAYOUT, self.seed, self.rule.model_dump(), self.metric.name]
        parts += [
            hash_tree(self.competition.public),
            self.competition.model_dump_json(exclude={"folder"}),
        ]
        digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
        return f"{self.competition.id}-{digest[:12]}"

    def _check_columns(self) -> None:
        competition = self.competition
        where = competition.folder
        for table, columns, name in (
            (self.train, (*self.train_ids, *competition.label_columns), "train.csv"),
            (self.test, competition.id_columns, "test.csv"),
            (self.sample, (*competition.id_columns, *self.targets), "sample_submission.csv"),
        ):
            for column in columns:
                if column not in table.columns:
                    raise CompetitionError(
                        f"{where}: public/{name} has no column {column!r}",
                        hint=f"its columns are {', '.join(map(str, table.columns))}",
                    )
        for column in self.inputs:
            if column not in self.train.columns:
                raise CompetitionError(
                    f"{where}: test.csv has a column {column!r} that train.csv has not"
                )
            if column in competition.label_columns:
                raise CompetitionError(f"{where}: test.csv shows the label column {column!r}")

    def check_labels(self) -> None:
        """Refuse labels that the metric cannot compare, empty ones above all."""
        answers = _answers(self, self.train)
        for column in self.targets:
            try:
                self.metric.parse(answers[column].astype(str))
            except ValueError as error:
                raise CompetitionError(
                    f"{self.competition.folder}: public/train.csv, column {column!r}: {error}"
                ) from None

    @property
    def inputs(self) -> list[str]:
        """Columns of test.csv, by the names that train.csv has for them."""
        renamed = dict(zip(self.competition.id_columns, self.train_ids, strict=True))
        return [renamed.get(column, column) for column in self.test.columns]


def target_columns(competition: Competition, sample: pd.DataFrame) -> tuple[str, ...]:
    """Return the columns that a submission holds beside its ids."""
    if competition.target_columns == SAMPLE_SUBMISSION:
        return tuple(str(c) for c in sample.columns if c not in competition.id_columns)
    return tuple(competition.target_columns)


def _write(plan: _Plan, folder: SplitFolder) -> None:
    validation_rows = _choose_rows(plan)
    chosen = set(validation_rows)
    train_rows = [row for row in range(len(plan.train)) if row not in chosen]
    validation = plan.train.iloc[validation_rows]

    try:
        copy_plain_tree(plan.competition.public, folder.public)
    except ValueError as error:
        raise CompetitionError(str(error), hint="put the file itself there") from None
    _write_table(plan.train.iloc[train_rows], folder.public / "train.csv")
    inputs = validation[plan.inputs].set_axis(plan.test.columns, axis="columns")
    _write_table(inputs, folder.public / "validation.csv")
    ids = inputs[list(plan.competition.id_columns)].reset_index(drop=True)
    _write_table(
        pd.concat([ids, _sample_values(plan, len(ids))], axis="columns"),
        folder.public / "sample_validation_submission.csv",
    )
    folder.sealed.mkdir(mode=0o700)
    _write_table(pd.concat([ids, _answers(plan, validation)], axis="columns"), folder.answers)
    folder.answers.chmod(0o600)
    split = Split(
        key=plan.key,
        competition=plan.competition.id,
        title=plan.competition.title,
        rule=plan.rule,
        seed=plan.seed,
        metric=plan.metric.name,
        maximize=plan.metric.maximize,
        id_columns=plan.competition.id_columns,
        label_columns=plan.competition.label_columns,
        target_columns=plan.targets,
        train_rows=len(train_rows),
        validation_rows=len(validation_rows),
        test_rows=len(plan.test),
        public_sha256=hash_tree(folder.public),
        sealed_sha256=hash_tree(folder.sealed),
    )
    write_durably(folder.described, split.model_dump_json(indent=2) + "\n")


def _write_table(table: pd.DataFrame, path: Path) -> None:
    write_durably(path, table.to_csv(index=False, lineterminator="\n"))


def _sample_values(plan: _Plan, rows: int) -> pd.DataFrame:
    """Return the sample submission's own values, repeated to `rows` rows."""
    values = plan.sample[list(plan.targets)]
    times = math.ceil(rows / len(values)) if len(values) else 0
    return pd.concat([values] * times, ignore_index=True).head(rows)


def _answers(plan: _Plan, validation: pd.DataFrame) -> pd.DataFrame:
    """Return the true values of the target columns; one-hot where the targets are the classes."""
    labels = plan.competition.label_columns
    missing = [column for column in plan.targets if column not in plan.train.columns]
    if not missing:
        return validation[list(plan.targets)].reset_index(drop=True)
    classes = set(plan.train[labels[0]])
    if len(labels) == 1 and classes <= set(plan.targets):
        label = validation[labels[0]].reset_index(drop=True)
        return pd.DataFrame({name: (label == name).astype(int) for name in plan.targets})
    raise CompetitionError(
        f"{plan.competition.folder}: the target column {missing[0]!r} is neither a column of train.csv "
        f"nor a class of {labels[0]!r}"
    )


# --- which rows -----------------------------------------------------------------------------------


def _choose_rows(plan: _Plan) -> list[int]:
    """Return the positions of the validation rows, ascending."""
    rows = len(plan.train)
    count = _validation_count(rows, plan.rule.fraction)
    if count == 0 or count >= rows:
        raise CompetitionError(
            f"{plan.competition.folder}: train.csv has {rows} rows, too few to hold some back"
        )
    order = _shuffled(range(rows), plan.seed)
    if plan.rule.kind == "random":
        return sorted(order[:count])
    if plan.rule.kind == "stratified":
        return sorted(_stratified(plan, order, count))
    raise CompetitionError(
        f"{plan.competition.folder}: splits of kind {plan.rule.kind!r} are not supported yet"
    )


def _validation_count(rows: int, fraction: float | None) -> int:
    """Return how many rows to hold back: 10 %, but 300 while that is at most a quarter."""
    if fraction is not None:
        return round(rows * fraction)
    return max(round(rows * 0.1), min(300, math.floor(rows * 0.25)))


def _shuffled(rows: Sequence[int], seed: int) -> list[int]:
    """Return `rows` in an order that depends on the seed alone."""

    def key(row: int) -> bytes:
        return hashlib.sha256(f"{seed}:{row}".encode()).digest()

    return sorted(rows, key=key)


def _stratified(plan: _Plan, order: list[int], count: int) -> list[int]:
    """Take from each class in proportion; a class never loses its last row to validation."""
    column = plan.rule.column
    if column not in plan.train.columns:
        raise CompetitionError(
            f"{plan.competition.folder}: the split's column {column!r} is not in train.csv"
        )
    members: dict[str, list[int]] = {}
    labels = plan.train[column].tolist()
    for row in order:
        members.setdefault(labels[row], []).append(row)
    share = count / len(order)
    quotas = {label: min(len(m) - 1, math.floor(len(m) * share)) for label, m in members.items()}
    by_remainder = sorted(
        members, key=lambda label: (-((len(members[label]) * share) % 1.0), str(label))
    )
    while sum(quotas.values()) < count:
        open_classes = [label for label in by_remainder if quotas[label] < len(members[label]) - 1]
        if not open_classes:
            break
        for label in open_classes[: count - sum(quotas.values())]:
            quotas[label] += 1
    return [row for label, taken in quotas.items() for row in members[label][:taken]]
