"""Score out-of-fold predictions for rows of train.csv."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from comind.competitions.data import is_one_hot, target_values
from comind.competitions.label_spelling import label_spellings
from comind.competitions.submission_table import ExpectedSize, one_row_per_id, read_submission
from comind.errors import CompetitionError, GraderError, SubmissionError
from comind.grading.blending.cross_fit import OutOfFold, most_candidates
from comind.grading.grader_port import GradeReport
from comind.grading.submission_schema import SubmissionSchema
from comind.grading.true_answers import Answers
from comind.metrics import Metric
from comind.splits.grouping import row_groups
from comind.splits.split_folder import SplitFolder
from comind.tables.csv_tables import check_train_keys, read_header, reject_columns, row_keys

_LEAST_ROWS = 2
_SHARE = 1 / 3  # of the rows that earlier candidates have in common, which the next one has to have, too
_DRAWN = 20_000  # rows, of which a stack is learned on fewer
_SEED = 20261129


class OutOfFoldScorer:
    """Scores out-of-fold predictions against the labels in train.csv, which agents have, too."""

    def __init__(self, folder: SplitFolder, metric: Metric) -> None:
        """Read the id and label columns of train.csv, and the columns of its groups.

        Raises:
            CompetitionError: train.csv lacks a column of the split.
        """
        split = folder.read()
        path = folder.public / "train.csv"
        needed = {*split.train_id_columns, *split.label_columns, *split.target_columns}
        names = dict(zip(split.id_columns, split.train_id_columns, strict=True))
        context = {name: names.get(name, name) for name in metric.context}
        needed.update((*split.rule.used_columns, *context.values()))
        columns = [name for name in read_header(path) if name in needed]
        rows = pd.read_csv(path, usecols=columns, dtype=str, keep_default_na=False)
        self._metric = metric
        self._ids = list(split.id_columns)
        self._train_ids = list(split.train_id_columns)
        self._targets = list(split.target_columns)
        self.keys = row_keys(rows, self._train_ids)
        """The keys of the rows of train.csv."""
        self._size = ExpectedSize.of(self.keys, self._targets, metric.answer_kind)
        shape = split.label_columns, split.target_columns
        one_hot = is_one_hot(rows, *shape, split.answer_kind)
        truth = target_values(rows, *shape, one_hot=one_hot).astype(str)
        self._truth = truth.assign(**{name: rows[column] for name, column in context.items()})
        self._spellings = label_spellings(rows, self._targets, metric, split.positive_class)
        self._groups = None
        if split.rule.kind == "group":
            self._groups, _ = pd.factorize(row_groups(rows, split.rule))

    def score(self, path: Path) -> GradeReport:
        """Score the predictions in a file over its rows; an invalid file gives a report with the error.

        Its columns are those of a submission; rows may be missing. Rows with an empty target are
        ignored, unless the metric accepts empty cells.
        """
        try:
            rows, prediction = self._read(path)
            answers = self._answers(rows, prediction)
            parsed = answers.schema.parse(prediction)
        except (SubmissionError, CompetitionError) as error:
            return GradeReport(valid=False, message=str(error).removeprefix(f"{path}: "))
        try:
            report = answers.score(parsed)
        except GraderError as error:
            report = GradeReport(valid=False, message=str(error))
        if report.valid or not self._metric.by_program:
            return report
        reason = f"the evaluator does not score these rows of train.csv: {report.message}"
        return GradeReport(valid=False, message=reason)

    def together(self, candidates: Sequence[Sequence[Path]]) -> OutOfFold | None:
        """Return the rows that candidates have in common, with their predictions; None without any.

        Of large tables some rows are drawn. `candidates` are the files of each, of which none predicts a
        row twice; the best first, some with none. One that has less than a third of the rows that those
        taken before have is left out; the first is the one with most rows.

        Raises:
            SubmissionError: a file is invalid.
        """
        drawn = np.arange(len(self.keys))
        if len(drawn) > _DRAWN:
            drawn = np.random.default_rng(_SEED).choice(drawn, _DRAWN, replace=False)
        tables: dict[int, pd.DataFrame] = {}
        for number, paths in enumerate(candidates):
            if paths and len(tables) < most_candidates(self._metric, len(drawn) * len(self._targets)):
                table = pd.concat([part.set_index(rows) for rows, part in map(self._read, paths)])
                tables[number] = table[table.index.isin(drawn)]
        common: np.ndarray | None = None
        for number in sorted(tables, key=lambda each: (-len(tables[each]), each)):
            rows = tables[number].index.to_numpy()
            shared = np.sort(rows) if common is None else np.intersect1d(common, rows)
            if common is None or len(shared) >= _SHARE * len(common):
                common = shared
            else:
                del tables[number]
        if common is None or not len(common):
            return None
        answers = self._answers(common, next(iter(tables.values())).loc[common])
        parsed = {
            number: answers.schema.parse(table.loc[common].reset_index(drop=True))
            for number, table in tables.items()
        }
        return OutOfFold(answers.truth, parsed, answers.groups, common)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The labels of train.csv, which are whole numbers, ascending."""
        known = pd.to_numeric(self._truth[self._targets[0]], errors="coerce").dropna()
        return tuple(str(int(value)) for value in sorted(set(known)))

    def _answers(self, rows: np.ndarray, table: pd.DataFrame) -> Answers:
        """Return the true values of the rows at these positions, which a table predicts."""
        columns = self._ids, self._targets
        schema = SubmissionSchema(table, *columns, self._metric, self._spellings)
        groups = None if self._groups is None else self._groups[rows]
        return Answers(schema, self._truth.iloc[rows], groups)

    def _read(self, path: Path) -> tuple[np.ndarray, pd.DataFrame]:
        """Return the positions of the predicted rows in train.csv, ascending, and their predictions.

        Raises:
            SubmissionError: wrong columns, an unknown or repeated id, or fewer than 2 rows.
        """
        table = self._predicted(path)
        order = self.keys.get_indexer(row_keys(table, self._ids))
        by_place = np.argsort(order)  # some metrics, and the last digit of others, depend on the order
        return order[by_place], table.iloc[by_place].reset_index(drop=True)

    def _predicted(self, path: Path) -> pd.DataFrame:
        """Read the rows of a file that have predictions; text cells.

        Raises:
            SubmissionError: wrong columns, an unknown or repeated id, or fewer than 2 rows.
        """
        table = read_submission(path, self._ids, self._targets, self._metric, size=self._size)
        if set(table.columns) == {*self._train_ids, *self._targets}:
            table = table.rename(columns=dict(zip(self._train_ids, self._ids, strict=True)))
            table = one_row_per_id(table, self._ids, self._targets, self._metric)
        expected = [*self._ids, *self._targets]
        if set(table.columns) != set(expected):
            reject_columns(list(table.columns), expected)
        if not self._metric.answer_kind.may_be_blank:
            blank = table[self._targets].apply(lambda cells: cells.str.strip() == "").any(axis="columns")
            table = table[~blank]
        check_train_keys(row_keys(table, self._ids), self.keys)
        if len(table) < _LEAST_ROWS:
            raise SubmissionError(f"it predicts {len(table)} rows, too few to score")
        return table.reset_index(drop=True)
