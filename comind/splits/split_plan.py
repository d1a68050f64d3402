"""Plan the split of a competition: its rule, its rows and its name, before any file is written.

A plan that a campaign's opening has checked is kept for the task that writes the split.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from comind.competitions.data import CompetitionData
from comind.domain.competition import TABLES, Competition, SplitRule
from comind.domain.value import Value
from comind.errors import CompetitionError
from comind.splits import search
from comind.splits.pooled_rows import PooledRows
from comind.splits.quality import SplitQuality, assess_split
from comind.splits.rule import Rule
from comind.splits.search import Comparison, compare, find_rule
from comind.splits.twin_files import RowClusters, Separation, cluster_rows
from comind.system.files import hash_tree, write_atomically
from comind.system.plurals import quantity
from comind.tables.mapped_table import release_memory, take_rows

_LAYOUT_VERSION = 3  # part of every key: raise it when the same inputs give other files
_SEARCH_VERSIONS = (4, 3, 2, 1)  # the first is part of the key where no rule is given: prepend one when
# tables give another rule
_MOST_SEARCHED = 1_000_000
"""Rows of train, and of test, among which the rule is searched; of larger tables a sample."""
_KEPT = ".plan-"
"""Prefix of the file of a kept plan, beside the splits."""
_TWINS_VERSION = 1  # part of the key where near-duplicate files change the rows
_SEAL_VERSION = 2  # part of the key where there are side files, so that no split is used that was made
# when their labels were sealed by names alone


@dataclass(frozen=True, eq=False)
class SplitPlan:
    """The validation rows of a competition, the rule that chose them, and the name of the split."""

    data: CompetitionData
    seed: int
    key: str
    """Name of the split's folder."""
    rule: SplitRule
    reason: str
    rows: list[int]
    """Positions of the validation rows in train.csv, ascending."""
    excluded: Sequence[int] = ()
    """Positions of labelled rows in neither part.

    Those with near-duplicates of held-out files, and those with groups of both parts by a rule of
    several groupings; in a fold also those later than its rows.
    """
    notes: tuple[str, ...] = ()
    """A line for each reason to exclude rows, or to hold out others than the rule's."""
    quality: SplitQuality = field(default_factory=SplitQuality)
    clusters: RowClusters | None = None
    """The near-duplicate files, where they changed the rows."""
    truth: pd.DataFrame | None = None
    """True values of the validation rows where a program has them, rather than the labels."""
    programs: Mapping[str, str] = field(default_factory=dict)
    """A generated evaluator, sealed with the split, by file name; empty for known metrics."""
    is_fold: bool = False
    """Whether it can be made again from a split, so that unchanged files may be hard links."""


class Compared(NamedTuple):
    """Test rows compared with train rows, of large tables samples of both."""

    pool: PooledRows
    comparison: Comparison
    train: "npt.NDArray[np.intp]"
    """Positions of the train rows that were compared, ascending."""
    test: "npt.NDArray[np.intp]"
    """Those of the test rows."""


def plan_split(data: CompetitionData, seed: int, *, most: int = _MOST_SEARCHED) -> SplitPlan:
    """Plan the split by the competition's rule, or by the one that train and test show.

    The rule is searched among about `most` rows of train, and of test. Without a metric it is a plain
    one, as a model has to be able to write it.

    Raises:
        CompetitionError: the rule does not fit the data.
    """
    rule, reason = plain_rule(data)
    compared = compare_tables(data, most=most)
    if data.competition.split is None and data.competition.metric is not None:
        rule, reason = find_rule(compared.comparison, (rule, reason))
        reason = "; ".join(filter(None, (reason, _compared_rows(data, compared))))
    clusters, separation = _separate(data, rule, seed)
    mixed = len(separation.mixed)
    notes = f"{quantity(mixed, 'row')} with groups of both parts are in neither" if mixed else ""
    unified = (f"column {name!r}: {what}" for name, what in compared.pool.unified.items())
    spelled = ", ".join(unified)
    unknown = ", ".join(f"{count:,} without {name!r}" for name, count in data.unknown_labels.items())
    unknown = unknown and f"each target is scored on the rows that have its label: {unknown}"
    spelled = spelled and f"compared by value: {spelled}"
    changed = bool(separation.note) and clusters is not None
    plan = SplitPlan(
        data=data,
        seed=seed,
        key=split_keys(data, seed, most=most)[int(changed)],
        rule=rule,
        reason=reason,
        rows=separation.rows,
        excluded=separation.excluded,
        notes=tuple(filter(None, (notes, separation.note, spelled, unknown))),
        quality=assess_rows(data, compared, rule, separation.rows, separation.excluded),
        clusters=clusters if changed else None,
    )
    del compared
    release_memory()
    return plan


def plain_rule(data: CompetitionData) -> tuple[SplitRule, str]:
    """Return the competition's rule, or the one that its columns show one by one, with the reason.

    Raises:
        CompetitionError: keys of the competition's rule are missing, or superfluous.
    """
    check_given_rule(data.competition)
    if data.competition.split is not None:
        return data.competition.split, "competition.yaml says so"
    return search.plain_rule(data.train, data.renamed_test, data.labels, data.metric.answer_kind)


def check_given_rule(competition: Competition) -> None:
    """Check the keys of the rule that a competition names, if it does.

    Raises:
        CompetitionError: some are missing, or superfluous.
    """
    try:
        if competition.split is not None:
            Rule.of(competition.split)
    except CompetitionError as error:
        where = competition.folder / "competition.yaml"
        raise CompetitionError(f"{where}: split: {error}") from None


def split_keys(data: CompetitionData, seed: int, *, most: int = _MOST_SEARCHED) -> tuple[str, ...]:
    """Return the names that the split may have, without a look at its rows.

    The first is the present one, the second that where near-duplicate files change the rows; others are
    of earlier searches.
    """
    parts = key_parts(data, seed)
    searched = data.competition.split is None and data.competition.metric is not None
    versions: list[tuple[int, ...]] = [(each,) for each in _SEARCH_VERSIONS] if searched else [()]
    if searched and max(len(data.train), len(data.test)) > most:
        versions = [(_SEARCH_VERSIONS[0], most), *versions]
    twins = ["near-duplicates", _TWINS_VERSION]
    return tuple(
        hashed_key(data.competition, [*parts, *version, *more])
        for version in versions
        for more in ([], twins)
    )


def hashed_key(competition: Competition, parts: Sequence[object]) -> str:
    """Return the name of a split: the competition's id and a hash of all inputs of the split."""
    return f"{competition.id}-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]}"


def key_parts(
    data: CompetitionData, seed: int, programs: Mapping[str, str] | None = None
) -> list[object]:
    """Return what every split of this competition and seed depends on."""
    public = data.competition.public
    own = {public / name for name in (*TABLES, "description.md")}
    has_side_files = any(path not in own and path.is_file() for path in public.rglob("*"))
    return [
        _LAYOUT_VERSION,
        seed,
        data.metric.name,
        dict(programs or data.sources),
        data.competition.model_dump_json(exclude={"folder"}),
        hash_tree(public, data.known_hashes),
        *(["seal", _SEAL_VERSION] if has_side_files else []),
    ]


def compare_tables(data: CompetitionData, *, most: int = _MOST_SEARCHED) -> Compared:
    """Compare about `most` test rows with as many train rows, in their shared columns."""
    train, test = data.train, data.renamed_test[data.shown]
    rows = sampled_rows(len(train), most), sampled_rows(len(test), most)
    if max(len(train), len(test)) > most:
        train = take_rows(train, rows[0]).reset_index(drop=True)
        test = take_rows(test, rows[1])
    pool = PooledRows(train, test, data.train_ids)
    del train, test
    release_memory()
    return Compared(pool, compare(pool), *rows)


def assess_rows(
    data: CompetitionData,
    compared: Compared,
    rule: SplitRule,
    rows: Sequence[int],
    excluded: Sequence[int],
) -> SplitQuality:
    """Compare these validation rows with the test rows, each in relation to train."""
    parts = [np.array(each, dtype=np.intp) for each in (rows, excluded)]
    if len(compared.train) < len(data.train):
        parts = [np.flatnonzero(np.isin(compared.train, each)) for each in parts]
    return assess_split(compared.pool, compared.comparison, rule, *parts)


def file_clusters_of(data: CompetitionData) -> RowClusters | None:
    """Return the clusters of near-duplicate files of rows, if they answer validation rows only."""
    saved = data.competition.folder if data.is_arranged else None
    shown = data.shown
    found = cluster_rows(
        data.train[shown], data.renamed_test[shown], data.competition.public, saved=saved
    )
    return None if found is None or found.answer_nothing else found


def _separate(
    data: CompetitionData, rule: SplitRule, seed: int
) -> tuple[RowClusters | None, Separation]:
    """Return the rows of the rule, without near-duplicate files on both sides.

    Raises:
        CompetitionError: the rule does not fit the data.
    """
    try:
        rows, mixed = Rule.of(rule).choose(data.train, seed)
    except CompetitionError as error:
        raise CompetitionError(f"{data.competition.folder}: {error}") from None
    clusters = file_clusters_of(data)
    if clusters is None:
        return None, Separation(rows, mixed, mixed=mixed)
    whole = data.competition.split is None and rule.kind in ("random", "stratified")
    found = clusters.separate(rows, whole=whole, seed=seed)
    return clusters, found._replace(excluded=sorted({*mixed, *found.excluded}), mixed=mixed)


def _compared_rows(data: CompetitionData, compared: Compared) -> str:
    """Return how many rows were compared, as text; empty for all."""
    parts = ((compared.train, data.train, "train"), (compared.test, data.test, "test"))
    looked = [
        f"{len(rows):,} of {len(table):,} {name} rows"
        for rows, table, name in parts
        if len(rows) < len(table)
    ]
    return f"compared by {' and '.join(looked)}" if looked else ""


def sampled_rows(rows: int, most: int) -> "npt.NDArray[np.intp]":
    """Return the positions of about `most` of so many rows, the same on every machine.

    Multiples of the golden ratio have their fractional parts spread evenly (Weyl's sequence), so that
    no period in the rows is preferred.
    """
    if rows <= most:
        return np.arange(rows)
    share = np.uint64(most * (2**64 - 1) // rows)
    spread = np.arange(rows, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return np.flatnonzero(spread <= share)


class _KeptPlan(Value):
    """The values of a plan; tables are read again."""

    key: str
    rule: SplitRule
    reason: str
    rows: list[int]
    excluded: list[int]
    notes: tuple[str, ...]
    quality: SplitQuality
    clusters: list[int] | None


def keep_plan(plan: SplitPlan, splits: Path) -> None:
    """Keep a plan below the folder of splits until its split is written.

    Without a metric none is kept, as a program will choose the rows.
    """
    if plan.data.competition.metric is None:
        return
    kept = _KeptPlan(
        key=plan.key,
        rule=plan.rule,
        reason=plan.reason,
        rows=plan.rows,
        excluded=list(plan.excluded),
        notes=plan.notes,
        quality=plan.quality,
        clusters=None if plan.clusters is None else plan.clusters.train.tolist(),
    )
    write_atomically(_place(splits, split_keys(plan.data, plan.seed)[0]), kept.model_dump_json())


def take_plan(data: CompetitionData, seed: int, splits: Path) -> SplitPlan | None:
    """Return the kept plan of these tables and seed; None where there is none, or a broken one."""
    keys = split_keys(data, seed)
    try:
        kept = _KeptPlan.model_validate_json(_place(splits, keys[0]).read_bytes())
    except (OSError, ValueError):
        return None
    if kept.key not in keys:
        return None
    values = {name: getattr(kept, name) for name in _KeptPlan.model_fields if name != "clusters"}
    none = np.array([], dtype=np.intp)
    clusters = None if kept.clusters is None else RowClusters(np.array(kept.clusters), none)
    return SplitPlan(data=data, seed=seed, clusters=clusters, **values)


def forget_plan(data: CompetitionData, seed: int, splits: Path) -> None:
    """Remove the kept plan of these tables and seed, if there is one."""
    _place(splits, split_keys(data, seed)[0]).unlink(missing_ok=True)


def _place(splits: Path, key: str) -> Path:
    return splits / f"{_KEPT}{key}.json"
