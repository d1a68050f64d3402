"""Plan the split of a competition, before any file is written."""

import hashlib
import json
import math
import stat
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pandas as pd

from comind.competitions.download.plain_download import source_of
from comind.competitions.joined_ids import with_joined_ids
from comind.competitions.label_spelling import Spelling, differing_spellings, label_spellings
from comind.competitions.positive_class import (
    has_positive_class,
    infer_positive_class,
    metric_of_labels,
)
from comind.competitions.target_values import is_one_hot, target_values
from comind.domain.competition import SAMPLE_SUBMISSION, TABLES, Competition, IdParts, SplitRule
from comind.errors import CompetitionError
from comind.metrics import Metric, MetricInfo, find_metric
from comind.splits.detect import detect_rule
from comind.splits.holdout import choose_fold
from comind.splits.quality import SplitQuality, assess_split
from comind.splits.relations import PooledRows
from comind.splits.rule_search import Comparison, compare, find_rule
from comind.splits.twin_files import RowClusters, Separation, cluster_rows
from comind.system.files import hash_tree
from comind.system.plurals import quantity
from comind.tables.csv_tables import read_table
from comind.tables.mapped_table import release_memory, take_rows

_LAYOUT_VERSION = 3  # part of every key: raise it when the same inputs give other files
_SEARCH_VERSIONS = (3, 2, 1)  # the first is part of the key where no rule is given: prepend one when
# tables give another rule
_MOST_SEARCHED = 1_000_000
"""Rows of train, and of test, among which the rule is searched; of larger tables a sample."""
_TWINS_VERSION = 1  # part of the key where near-duplicate files change the rows
_SEAL_VERSION = 2  # part of the key where there are side files, so that no split is used that was made
# when their labels were sealed by names alone


class SplitPlan:
    """The tables, columns, metric and split rule of one competition."""

    searches_rule = True
    """Whether `rule_search` refines a detected rule; a rule that the competition names is final."""
    hard_links = False
    """Whether unchanged files may be hard links, as the split can be made again."""
    separates_twins = True
    """Whether near-duplicates of held-out files leave train."""
    programs: Mapping[str, str] = MappingProxyType({})
    """A generated evaluator, sealed with the split, by file name; empty for known metrics."""

    def __init__(self, competition: Competition, seed: int, metric: MetricInfo | None = None) -> None:
        """Read the three tables; without `metric`, the competition's own is looked up.

        Raises:
            CompetitionError: a table is missing or unreadable, or the metric is unknown.
        """
        self.competition = competition
        self.seed = seed
        self.known_hashes: dict[tuple[int, ...], str] = {}
        """Hashes of files that have been read once, see `hash_tree`."""
        self.ids = competition.id_columns
        """Id columns of a submission."""
        self.train_ids = competition.train_id_columns or self.ids
        """The same columns in train.csv, which may have other names."""
        self.labels = competition.label_columns
        """Label columns of train.csv."""
        named = find_metric(competition) if metric is None else metric
        self.train, self.test, self.sample = (
            read_table(competition.public / name, CompetitionError) for name in TABLES
        )
        if competition.id_parts is not None:
            self._join_ids(competition.id_parts)
        self.metric = metric_of_labels(named, self.train, self.labels)

    def _join_ids(self, parts: IdParts) -> None:
        """Add the id that joins other columns to train and test, where it is missing.

        Raises:
            CompetitionError: a table lacks one of these columns.
        """
        try:
            self.test = with_joined_ids(self.test, self.ids[0], parts, "test.csv")
            self.train = with_joined_ids(self.train, self.train_ids[0], parts, "train.csv")
        except CompetitionError as error:
            where = f"{self.competition.folder}: public/{error}"
            raise CompetitionError(where, hint=error.hint) from None

    @cached_property
    def targets(self) -> tuple[str, ...]:
        """Columns of a submission beside its ids."""
        if self.competition.target_columns == SAMPLE_SUBMISSION:
            return tuple(str(column) for column in self.sample.columns if column not in self.ids)
        return tuple(self.competition.target_columns)

    @property
    def inputs(self) -> list[str]:
        """Columns of test.csv, by their names in train.csv."""
        renamed = dict(zip(self.ids, self.train_ids, strict=True))
        return [renamed.get(column, column) for column in self.test.columns]

    @property
    def withheld(self) -> list[str]:
        """Columns of train.csv not shown of held-out rows: labels, and those that test.csv lacks."""
        shown = set(self.inputs) - set(self.labels)
        return [name for name in self.train.columns if name not in shown]

    def is_linked(self, file: Path) -> bool:
        """Return whether a public file may be a hard link in the split, rather than a copy.

        In an arranged download all but tables, which a user may edit, are; see `hard_links`. Files that
        only their owner can read are copied, as sandboxes may have another user.
        """
        if self.hard_links:
            return True
        readable = bool(file.stat().st_mode & stat.S_IROTH)
        return self._is_arranged and file.suffix.lower() != ".csv" and readable

    @cached_property
    def _is_arranged(self) -> bool:
        return source_of(self.competition.folder) is not None

    @property
    def one_hot(self) -> bool:
        """Whether the target columns are the classes of the one label."""
        return is_one_hot(self.train, self.labels, self.targets, self.metric.kind)

    @cached_property
    def positive_class(self) -> str:
        """The class that counts as 1; empty where labels are 0 and 1, or the metric has none.

        Raises:
            CompetitionError: two classes are words, and it is open which of them it is.
        """
        given = self.competition.positive_class
        if not has_positive_class(self.metric) or self.one_hot:
            return ""
        found = set()
        for name in self.targets:
            if name in self.train.columns:
                try:
                    found.add(
                        infer_positive_class(self.train[name], given=given, text=self._description)
                    )
                except CompetitionError as error:
                    where = f"{self.competition.folder}: public/train.csv"
                    raise CompetitionError(f"{where}: {error}", hint=error.hint) from None
        return found.pop() if len(found) == 1 else ""

    @property
    def scored_by(self) -> Metric:
        """The metric, of a competition that names one.

        Raises:
            TypeError: it names none, so that its evaluator is a program.
        """
        if not isinstance(self.metric, Metric):
            raise TypeError("a generated evaluator is no metric")
        return self.metric

    @property
    def spellings(self) -> Mapping[str, Spelling]:
        """The classes of train.csv by target column, which submissions may spell otherwise."""
        return label_spellings(self.train, self.targets, self.metric, self.positive_class)

    @property
    def _description(self) -> str:
        page = self.competition.public / "description.md"
        return page.read_text(errors="replace") if page.is_file() else ""

    @cached_property
    def rule_with_reason(self) -> tuple[SplitRule, str]:
        """The competition's rule, or the one inferred from train and test, with the reason."""
        if self.competition.split is not None:
            return self.competition.split, "competition.yaml says so"
        test = self.test.set_axis(self.inputs, axis="columns")
        plain = detect_rule(self.train, test, self.labels, self.metric.kind)
        rule, reason = (find_rule(self.comparison, plain[0]) if self.searches_rule else None) or plain
        return rule, "; ".join(filter(None, (reason, self._looked_at)))

    @cached_property
    def pool(self) -> PooledRows:
        """The rows of train and test, in their shared columns; of more than a million, a sample."""
        shown = [name for name in self.inputs if name not in self.labels]
        test = self.test.set_axis(self.inputs, axis="columns")[shown]
        if self._is_sampled:
            rows = _sampled_rows(len(test))
            train = take_rows(self.train, _sampled_rows(len(self.train)))
            return PooledRows(train.reset_index(drop=True), take_rows(test, rows), self.train_ids)
        return PooledRows(self.train, test, self.train_ids)

    @property
    def _is_sampled(self) -> bool:
        return max(len(self.train), len(self.test)) > _MOST_SEARCHED

    @property
    def _looked_at(self) -> str:
        """Return the number of compared rows as text; empty for all."""
        if not (self._is_sampled and self.searches_rule):
            return ""
        parts = ((len(self.train), "train"), (len(self.test), "test"))
        looked = (
            f"{len(_sampled_rows(rows)):,} of {rows:,} {name} rows"
            for rows, name in parts
            if rows > _MOST_SEARCHED
        )
        return f"compared by {' and '.join(looked)}"

    @cached_property
    def comparison(self) -> Comparison:
        """Test rows compared with train rows."""
        pool = self.pool
        release_memory()
        return compare(pool)

    def forget_comparison(self) -> None:
        """Free what the search compared, half a gigabyte for a million rows; made again on demand."""
        for name in ("pool", "comparison"):
            self.__dict__.pop(name, None)
        release_memory()

    def quality(self, positions: list[int]) -> SplitQuality:
        """Compare these validation rows with the test rows, each in relation to train."""
        rule, _ = self.rule_with_reason
        rows, excluded = (np.array(each, dtype=np.intp) for each in (positions, self.excluded))
        if self._is_sampled:
            sampled = _sampled_rows(len(self.train))
            rows, excluded = (np.flatnonzero(np.isin(sampled, each)) for each in (rows, excluded))
        return assess_split(self.pool, self.comparison, rule, rows, excluded)

    @property
    def spelling_warnings(self) -> tuple[str, ...]:
        """A line for each target whose classes the sample submission spells otherwise than train.csv."""
        return differing_spellings(self.sample, self.spellings)

    def validation_rows(self) -> list[int]:
        """Return the positions of the validation rows, ascending.

        Raises:
            CompetitionError: the rule does not fit the data.
        """
        return self.separation.rows

    @cached_property
    def excluded(self) -> Sequence[int]:
        """Positions of labelled rows in neither part.

        Those with near-duplicates of held-out files, and those with groups of both parts by a rule of
        several groupings; in a fold also those later than its rows.
        """
        return self.separation.excluded if self.separates_twins else ()

    @cached_property
    def file_clusters(self) -> RowClusters | None:
        """The clusters of near-duplicate files that rows name, if they answer validation rows only."""
        shown = [name for name in self.inputs if name not in self.labels]
        test = self.test.set_axis(self.inputs, axis="columns")
        saved = self.competition.folder if self._is_arranged else None
        found = cluster_rows(self.train[shown], test[shown], self.competition.public, saved=saved)
        return None if found is None or found.answer_nothing else found

    @cached_property
    def separation(self) -> Separation:
        """The rows of the rule, without near-duplicate files on both sides."""
        rule, _ = self.rule_with_reason
        try:
            rows, mixed = choose_fold(self.train, rule, self.seed, 0)
        except CompetitionError as error:
            raise CompetitionError(f"{self.competition.folder}: {error}") from None
        if not self.separates_twins or self.file_clusters is None:
            return Separation(rows, mixed, mixed=mixed)
        whole = self.competition.split is None and rule.kind in ("random", "stratified")
        found = self.file_clusters.separate(rows, whole=whole, seed=self.seed)
        return found._replace(excluded=sorted({*mixed, *found.excluded}), mixed=mixed)

    @property
    def exclusion_notes(self) -> tuple[str, ...]:
        """A line for each reason to exclude labelled rows from both parts."""
        if not self.separates_twins:
            return ()
        rows = len(self.separation.mixed)
        mixed = f"{quantity(rows, 'row')} with groups of both parts are in neither" if rows else ""
        return tuple(filter(None, (mixed, self.separation.note)))

    def answers(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the true values of the target columns for labelled rows; one-hot for classes.

        Raises:
            CompetitionError: a target is neither a column of train.csv nor a class of its label.
        """
        try:
            return target_values(rows, self.labels, self.targets, one_hot=self.one_hot)
        except CompetitionError as error:
            raise CompetitionError(f"{self.competition.folder}: {error}", hint=error.hint) from None

    def sample_values(self, rows: int) -> pd.DataFrame:
        """Return the target values of the sample submission, repeated to `rows` rows."""
        values = self.sample[list(self.targets)]
        times = math.ceil(rows / len(values)) if len(values) else 0
        return pd.concat([values] * times, ignore_index=True).head(rows)

    @cached_property
    def key(self) -> str:
        """Name of the split: the competition's id and a hash of all inputs of the split."""
        clusters = self.file_clusters if self.separates_twins else None
        return self._name(*self._suffixes[0], twins=clusters is not None and bool(self.separation.note))

    @property
    def known_keys(self) -> tuple[str, ...]:
        """The names that the split may have, also by earlier searches, without a look at its rows."""
        twins = (False, True) if self.separates_twins else (False,)
        return tuple(self._name(*suffix, twins=each) for suffix in self._suffixes for each in twins)

    @property
    def _suffixes(self) -> list[tuple[int, ...]]:
        """Parts of the key by version of the search, the present first; none if the rule is given."""
        searched = self.competition.split is None and self.searches_rule
        whole = [(version,) for version in _SEARCH_VERSIONS] if searched else [()]
        sampled = [(_SEARCH_VERSIONS[0], _MOST_SEARCHED)] if searched and self._is_sampled else []
        return [*sampled, *whole]

    def _name(self, *search: int, twins: bool) -> str:
        parts = [*self._key_parts, *search, *(["near-duplicates", _TWINS_VERSION] if twins else [])]
        digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
        return f"{self.competition.id}-{digest[:12]}"

    @cached_property
    def _key_parts(self) -> list[object]:
        return [
            _LAYOUT_VERSION,
            self.seed,
            self.metric.name,
            dict(self.programs),
            self.competition.model_dump_json(exclude={"folder"}),
            hash_tree(self.competition.public, self.known_hashes),
            *(["seal", _SEAL_VERSION] if self._has_side_files else []),
        ]

    @property
    def _has_side_files(self) -> bool:
        """Whether there are public files besides the tables and the description."""
        public = self.competition.public
        own = {public / name for name in (*TABLES, "description.md")}
        return any(path not in own and path.is_file() for path in public.rglob("*"))


def _sampled_rows(rows: int) -> "npt.NDArray[np.intp]":
    """Return the positions of about `_MOST_SEARCHED` of so many rows, the same on every machine.

    Multiples of the golden ratio have their fractional parts spread evenly (Weyl's sequence), so that
    no period in the rows is preferred.
    """
    if rows <= _MOST_SEARCHED:
        return np.arange(rows)
    share = np.uint64(_MOST_SEARCHED * (2**64 - 1) // rows)
    spread = np.arange(rows, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return np.flatnonzero(spread <= share)
