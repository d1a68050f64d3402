"""Which row of a submission is compared with which row of the answers."""

import pandas as pd

from comind.errors import SubmissionError
from comind.evaluation.benchmark.catalog import (
    BenchmarkCompetition,
    Difference,
    GradingRules,
    Mode,
    ScoredRows,
)
from comind.evaluation.csv_tables import check_row_keys, reject_columns, row_keys
from comind.evaluation.metrics.parsing import parse_labels

__all__ = ["Pair", "pair_rows"]

Pair = tuple[pd.DataFrame, pd.DataFrame]
"""(answers, submission): the same number of rows, compared by place. The index of the submission is
the place of each row in its file."""


def pair_rows(rules: GradingRules, answers: pd.DataFrame, table: pd.DataFrame) -> Pair:
    """Return the rows that are scored, in pairs.

    Under `kaggle` a submission has exactly the columns and ids asked for, each id once, in any order.

    Raises:
        SubmissionError: columns or ids are not those asked for.
    """
    entry, differences = rules.entry, rules.differences
    table = _with_columns(rules, table)
    whole = _scored(entry, answers)
    if Difference.ROWS_OF_MASK in differences:
        return _masked_by_place(entry, answers, table)
    pairing = next((how for how in _BY_PLACE if how in differences), None)
    if pairing is not None:
        answers, table = _by_place(rules, answers, table, pairing)
    else:
        answers, table = _by_key(rules, answers, table)
    scored = whole.loc[answers.index].to_numpy()
    if not scored.any():
        raise SubmissionError("none of its rows is scored")
    return answers[scored], table[scored]


_BY_PLACE = (Difference.IN_ORDER, Difference.AS_ORDERED, Difference.SORTED_NOT_MATCHED)


def _with_columns(rules: GradingRules, table: pd.DataFrame) -> pd.DataFrame:
    """Return the submission with its ids and targets alone, once it has the right columns."""
    entry, targets, differences = rules.entry, rules.targets, rules.differences
    asked = [*entry.ids, *targets, *entry.unscored]
    found = [str(name) for name in table.columns]
    strict = rules.mode is Mode.KAGGLE or Difference.SAME_COLUMNS in differences
    needed = (
        set(asked) if rules.mode is Mode.KAGGLE or len(entry.unscored) > 1 else {*entry.ids, *targets}
    )
    if needed - set(found) or (strict and set(found) - set(asked)):
        reject_columns(found, asked)
    if Difference.ID_FIRST in differences and found[0] != entry.ids[0]:
        raise SubmissionError(f"the column {entry.ids[0]!r} is not the first")
    if Difference.COLUMNS_AS_ORDERED in differences and found != asked:
        raise SubmissionError(
            "the columns are not in the order of the answers", hint=f"expected {', '.join(asked[:30])}"
        )
    if Difference.COLUMNS_IN_ORDER in differences:
        renamed = dict(zip((n for n in found if n not in entry.ids), targets, strict=False))
        table = table.rename(columns=renamed)
    return table[[*entry.ids, *targets]].reset_index(drop=True)


def _by_key(rules: GradingRules, answers: pd.DataFrame, table: pd.DataFrame) -> Pair:
    ids, differences = rules.ids, rules.differences
    expected, found = _keys(answers, table, ids, as_numbers=bool(differences))
    if Difference.MORE_ROWS in differences:
        table = table[found.isin(expected)]
        found = found[found.isin(expected)]
    if Difference.SOME_ROWS in differences:
        answers = answers[expected.isin(found)]
        expected = expected[expected.isin(found)]
    check_row_keys(found, expected, " and ".join(ids))
    return answers, table.iloc[found.get_indexer(expected)]


def _keys(
    answers: pd.DataFrame, table: pd.DataFrame, ids: list[str], *, as_numbers: bool
) -> tuple[pd.Index, pd.Index]:
    """Return one key a row for both.

    Where answers have an id several times, as texts can, its first row is compared with the first.
    """
    keys = [row_keys(side, ids) for side in (answers, table)]
    if as_numbers and len(ids) == 1:
        values = [pd.to_numeric(pd.Series(key), errors="coerce") for key in keys]
        if all(value.notna().all() for value in values):
            keys = [
                pd.Index(value.map(lambda v: f"{v:g}" if v % 1 else str(int(v)))) for value in values
            ]
    if keys[0].has_duplicates:
        keys = [_numbered(each) for each in keys]
    return keys[0], keys[1]


def _numbered(keys: pd.Index) -> pd.Index:
    """Tell equal keys apart by a number."""
    numbers = pd.Series(keys).groupby(keys).cumcount() + 1
    return pd.Index([f"{key} ({number})" for key, number in zip(keys, numbers, strict=True)])


def _by_place(rules: GradingRules, answers: pd.DataFrame, table: pd.DataFrame, how: Difference) -> Pair:
    if len(answers) != len(table):
        raise SubmissionError(f"has {len(table)} rows, expected {len(answers)}")
    if how is Difference.SORTED_NOT_MATCHED:
        first = rules.ids[0]
        answers, table = _sorted(answers, first), _sorted(table, first)
        if len(rules.ids) > 1 and (answers[first].to_numpy() != table[first].to_numpy()).any():
            raise SubmissionError(f"has not as many rows of each {first} as asked for")
    if (
        how is Difference.AS_ORDERED
        and (row_keys(answers, rules.ids).to_numpy() != row_keys(table, rules.ids).to_numpy()).any()
    ):
        raise SubmissionError("its rows are not in the order of the answers")
    return answers, table


def _sorted(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the table by one column, as numbers where all its cells are numbers."""
    values = pd.to_numeric(table[column], errors="coerce")
    key = values if values.notna().all() else table[column]
    return table.loc[key.sort_values(kind="stable").index]


def _masked_by_place(entry: BenchmarkCompetition, answers: pd.DataFrame, table: pd.DataFrame) -> Pair:
    """Return the answers' scored rows beside the submission's rows at the same places, by id each."""
    ids = list(entry.ids)
    check_row_keys(row_keys(table, ids), row_keys(answers, ids), " and ".join(ids))
    scored = _scored(entry, answers)
    sides = [_sorted(side, entry.ids[0]) for side in (answers, table)]
    true, guess = (side[scored.loc[side.index].to_numpy()] for side in sides)
    return true, guess


def _scored(entry: BenchmarkCompetition, answers: pd.DataFrame) -> "pd.Series":
    """Return which rows of the answers count."""
    rule = entry.scored_rows
    if rule is None:
        return pd.Series(data=True, index=answers.index)
    if rule.last is not None:
        return _last(rule, answers, entry.ids[0])
    cells = answers[rule.column]
    same = (parse_labels(cells.mask(cells.str.strip() == "", "-"))) == rule.value
    return ~same if rule.unless else same


def _last(rule: ScoredRows, answers: pd.DataFrame, name: str) -> "pd.Series":
    known = answers[answers[rule.known].str.strip() != ""] if rule.known else answers
    numbers = known[name].str.rsplit("_", n=1).str[-1].astype(int)
    last = known.loc[numbers.sort_values(kind="stable").index].groupby(rule.column).tail(rule.last or 1)
    return pd.Series(answers.index.isin(last.index), index=answers.index)
