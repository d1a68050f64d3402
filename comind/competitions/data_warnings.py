"""Warn of labels, inputs and rows by which scores or predictions are worthless."""

import math
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain

import pandas as pd

from comind.competitions.data import CompetitionData
from comind.competitions.label_spelling import differing_spellings
from comind.domain.competition import TABLES
from comind.domain.numbers import is_number
from comind.domain.problem import AnswerKind
from comind.metrics.metric_types import Metric, MetricInfo
from comind.tables.csv_tables import row_keys
from comind.tables.table_files import header, near_files, text_table

_LOOKED_AT, _SHOWN = 1_000, 3
_MANY_CLASSES = 20
_SENTINELS = {sign * (10.0**digits - 1) for digits in (2, 3, 4, 5, 6) for sign in (1, -1)}
"""Numbers of nines, which mean missing values in many tables."""
_LEAST_SENTINELS = 0.01
_MOST_INPUTS = 2_000
_HUGE = 1e6
_MOST = 0.9
"""Share of the rows to predict whose answers make a table one of answers."""


def data_warnings(data: CompetitionData) -> tuple[str, ...]:
    """Return a line for each fact that may make scores or predictions worthless."""
    lines = chain(
        differing_spellings(data.sample, data.spellings),
        _of_labels(data),
        _of_inputs(data),
        _of_sentinels(data),
        _of_known_rows(data),
        _of_answers(data),
    )
    return tuple(lines)


def _of_labels(data: CompetitionData) -> Iterator[str]:
    """Yield labels that have one value, that differ in spelling alone, or that do not fit the metric."""
    for name in data.labels:
        cells = data.train[name].str.strip()
        different = cells[cells != ""].unique().tolist()
        if len(different) == 1:
            yield f"label {name!r} is {different[0]!r} in all rows, so that nothing can be learnt"
        numbers = [float(cell) for cell in different if is_number(cell)]
        if data.metric.answer_kind.of_classes:
            yield from _of_spellings(name, different)
        if len(numbers) < len(different) or not numbers:
            continue
        if _compares_labels(data.metric) and len(numbers) > _MANY_CLASSES:
            if not all(number.is_integer() for number in numbers):
                yield (
                    f"label {name!r} has {len(numbers):,} different numbers, such as {different[0]}, "
                    f"and {data.metric.name} compares labels for equality"
                )
        elif 0.0 in numbers and _divides_by_label(data.metric):
            count = int((pd.to_numeric(cells, errors="coerce") == 0).sum())
            yield (
                f"label {name!r} is 0 in {count:,} rows, by which {data.metric.name} divides: "
                "these rows decide the score"
            )


def _of_spellings(name: str, classes: list[str]) -> Iterator[str]:
    """Yield the first classes of a label that are one but for case, blanks or decimals."""
    known: dict[str, list[str]] = defaultdict(list)
    for each in classes[:_LOOKED_AT]:
        same = str(float(each)) if is_number(each) else " ".join(each.casefold().split())
        known[same].append(each)
    for alike in known.values():
        if len(alike) > 1:
            shown = " and ".join(map(repr, alike[:2]))
            yield f"label {name!r} has {shown}, which are two classes here"
            return


def _compares_labels(metric: MetricInfo) -> bool:
    return metric.answer_kind is AnswerKind.LABEL


def _divides_by_label(metric: MetricInfo) -> bool:
    """Return whether an error of 1 where the label is 0 has a huge score."""
    if not isinstance(metric, Metric) or metric.answer_kind is not AnswerKind.NUMBER or metric.context:
        return False
    truth, prediction = pd.DataFrame({"y": [0.0, 1.0, 2.0]}), pd.DataFrame({"y": [1.0, 1.0, 2.0]})
    try:
        score = metric.score(truth, prediction)
    except (ValueError, ArithmeticError):
        return False
    return not math.isfinite(score) or abs(score) > _HUGE


def _of_inputs(data: CompetitionData) -> Iterator[str]:
    """Yield that the tables have no inputs, as where all features are in further tables."""
    if set(data.shown) <= set(data.train_ids):
        yield "train.csv and test.csv share no column but the ids: files of rows, if any, are all inputs"


def _of_sentinels(data: CompetitionData) -> Iterator[str]:
    """Yield the inputs with a number of nines far from their other numbers."""
    found: dict[float, list[str]] = defaultdict(list)
    for name in data.inputs[:_MOST_INPUTS]:
        if name in data.train_ids or name not in data.train.columns:
            continue
        numbers = pd.to_numeric(data.train[name].head(_LOOKED_AT), errors="coerce").dropna()
        for value in _SENTINELS.intersection(numbers.unique()):
            others = numbers[numbers != value]
            frequent = len(numbers) - len(others) > len(numbers) * _LEAST_SENTINELS
            distance = (others - value).abs().min()
            if frequent and len(others) and distance > max(1.0, others.max() - others.min()):
                found[value].append(name)
    for value, names in found.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        what = f"column {names[0]!r}{more}"
        yield f"{value:g} may mean missing in {what}: it is far from other values"


def _of_known_rows(data: CompetitionData) -> Iterator[str]:
    """Yield how many of the first rows to predict are in train.csv, ids included."""
    test = data.renamed_test.head(_LOOKED_AT)
    shared = [name for name in test.columns if name in data.train.columns and name not in data.labels]
    if set(shared) <= set(data.train_ids) or not set(data.train_ids) <= set(shared):
        return
    first = data.train_ids[0]
    rows = data.train.loc[data.train[first].isin(test[first]), shared]
    count = len(test.merge(rows.drop_duplicates(), on=shared))
    if count:
        rows_shown = f"{count:,} of the first {len(test):,} rows of test.csv"
        yield f"{rows_shown} are in train.csv, with their labels"


def _of_answers(data: CompetitionData) -> Iterator[str]:
    """Yield tables beside the usual ones that have values of the targets for the rows to predict."""
    ids, public = list(data.ids), data.competition.public
    for path in near_files(public, (".csv",)):
        if path.name in TABLES or not {*ids, *data.targets} <= set(header(path)):
            continue
        columns = [*ids, *data.targets]
        table = text_table(path, columns)
        if set(data.targets) <= set(data.train.columns):  # a copy of train.csv may have the same ids
            known = data.train[[*data.train_ids, *data.targets]].set_axis(columns, axis="columns")
            table = table[~row_keys(table, columns).isin(row_keys(known, columns))]
        if len(table[list(data.targets)].drop_duplicates()) <= 1:
            continue  # another sample
        if row_keys(data.test, ids).isin(row_keys(table, ids)).mean() >= _MOST:
            shown = ", ".join(map(repr, data.targets[:_SHOWN]))
            yield (
                f"{path.relative_to(public)} has {shown} of the rows to predict: remove it if these are "
                "the true values, as agents read it"
            )
