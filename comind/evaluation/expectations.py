"""What is expected of a competition that arrives and of a submission that is handed in.

Great Expectations suites, each expectation with the one line that is said when it fails; the one module
that knows Great Expectations. Importing it takes seconds, so the suites run when a competition arrives
and when the final submission is handed in, never for a step.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd

from comind.domain.problem import AnswerKind
from comind.errors import CompetitionError, SubmissionError
from comind.evaluation.grading import SubmissionForm, keys_of
from comind.evaluation.metrics import Metric
from comind.evaluation.splits.plan import SplitPlan

__all__ = ["check_arrival", "check_hand_in"]

_NUMBER_KINDS = (AnswerKind.NUMBER, AnswerKind.PROBABILITY)
_KEY, _ASKED, _NUMBER = "\0id", "\0asked for", "\0as number"  # like no column of a table of text


@dataclass(frozen=True, slots=True)
class _Expected:
    """One expectation by name, its arguments, and what is said when it fails."""

    name: str
    arguments: dict[str, Any]
    says: Callable[[int, str], str]
    """(rows that fail, one of their values) -> line."""
    hint: str = ""


def check_arrival(plan: SplitPlan) -> None:
    """Make sure that a competition's tables fit its description and each other.

    Raises:
        CompetitionError: the first expectation that fails, in one line.
    """
    where = plan.competition.folder
    if plan.metric.kind is AnswerKind.CLASS_PROBABILITIES and len(plan.targets) == 1:
        raise CompetitionError(
            f"{where}: {plan.metric.name} wants a target column for each class, not one",
            hint="for two classes and one column the metric is log-loss",
        )
    labelled = _columns_exist(plan.train, (*plan.train_ids, *plan.labels))
    tables = {
        "train.csv": (plan.train, labelled, _train_rows),
        "test.csv": (plan.test, _test_columns(plan), _test_rows),
        "sample_submission.csv": (plan.sample, _sample_columns(plan), _sample_rows),
    }
    for name, (table, columns, _) in tables.items():
        for line, hint in _failures(_header_of(table), columns):
            raise CompetitionError(f"{where}: public/{name} {line}", hint=hint)
    for name, (table, _, rows) in tables.items():
        for line, hint in _failures(*rows(plan, table)):
            raise CompetitionError(f"{where}: public/{name}: {line}", hint=hint)
    _check_truth(plan)


def check_hand_in(form: SubmissionForm, table: pd.DataFrame) -> None:
    """Make sure that a submission (text cells) has the form that it is graded in.

    Raises:
        SubmissionError: the first expectation that fails, in one line.
    """
    expected = [*form.ids, *form.targets]
    structure = [_column_set(expected, "the columns are not {expected}, but {found}", table)]
    for line, _ in _failures(_header_of(table), structure):
        raise SubmissionError(line)
    keys = keys_of(table, form.ids)
    frame = _blank_as_missing(table[form.targets])
    frame[_KEY], frame[_ASKED] = _texts(keys), keys.isin(form.keys)
    checks = [
        _rows_equal(len(form.keys)),
        *_ids(" and ".join(form.ids), len(table)),
        _asked("asked for", len(table)),
    ]
    if form.metric is None or not form.metric.kind.may_be_blank:
        checks += [_present(name, len(table)) for name in form.targets]
    for line, _ in _failures(frame, checks):
        raise SubmissionError(line)


# --- what is expected of each table ---------------------------------------------------------------


def _test_columns(plan: SplitPlan) -> list[_Expected]:
    known = {*plan.train.columns, *plan.ids}
    return [
        *_columns_exist(plan.test, plan.ids),
        _Expected(
            "ExpectColumnValuesToNotBeInSet",
            {"column": "column", "value_set": list(plan.labels)},
            lambda _, first: f"shows the label column {first!r}",
            "take it out of test.csv, or out of label_columns",
        ),
        _Expected(
            "ExpectColumnValuesToBeInSet",
            {"column": "column", "value_set": sorted(known)},
            lambda _, first: f"has a column {first!r} that train.csv has not",
        ),
    ]


def _sample_columns(plan: SplitPlan) -> list[_Expected]:
    expected = [*plan.ids, *plan.targets]
    if not plan.targets:
        return [_column_set([*expected, "..."], "has no column beside the ids", plan.sample)]
    return [
        *_columns_exist(plan.sample, expected),
        _column_set(expected, "has columns {found}; a submission has {expected}", plan.sample),
    ]


def _train_rows(plan: SplitPlan, table: pd.DataFrame) -> tuple[pd.DataFrame, list[_Expected]]:
    frame = _blank_as_missing(table[list(plan.labels)])
    frame[_KEY] = _texts(keys_of(table, list(plan.train_ids)))
    checks = [_rows_at_least(4), *_ids(" and ".join(plan.train_ids), len(table))]
    if not plan.metric.kind.may_be_blank:
        checks += [
            _present(column, len(table))
            for column in plan.labels
            if column in plan.targets or plan.one_hot
        ]
    if plan.metric.kind.of_classes and len(plan.labels) == 1:
        checks.append(
            _Expected(
                "ExpectColumnUniqueValueCountToBeBetween",
                {"column": plan.labels[0], "min_value": 2},
                lambda *_: f"every row has the same {plan.labels[0]!r}; there is nothing to tell apart",
            )
        )
    if plan.one_hot:
        checks.append(
            _Expected(
                "ExpectColumnValuesToBeInSet",
                {"column": plan.labels[0], "value_set": list(plan.targets)},
                lambda count, first: (
                    f"the class {first!r} is not a target column ({count} of {len(table)} rows)"
                ),
                f"the target columns are {', '.join(plan.targets[:30])}",
            )
        )
    if plan.metric.kind in _NUMBER_KINDS:
        for column in plan.targets:
            if column in table.columns:
                frame[column + _NUMBER] = pd.to_numeric(table[column], errors="coerce")
                checks.append(_number(column, table))
    return frame, checks


def _test_rows(plan: SplitPlan, table: pd.DataFrame) -> tuple[pd.DataFrame, list[_Expected]]:
    frame = pd.DataFrame({_KEY: _texts(keys_of(table, list(plan.ids)))})
    return frame, [_rows_at_least(1), *_ids(" and ".join(plan.ids), len(table))]


def _sample_rows(plan: SplitPlan, table: pd.DataFrame) -> tuple[pd.DataFrame, list[_Expected]]:
    keys = keys_of(table, list(plan.ids))
    asked = keys_of(plan.test, list(plan.ids))
    frame = pd.DataFrame({_KEY: _texts(keys), _ASKED: keys.isin(asked)})
    checks = [_rows_equal(len(plan.test)), *_ids(" and ".join(plan.ids), len(table))]
    return frame, [*checks, _asked("in test.csv", len(table))]


def _check_truth(plan: SplitPlan) -> None:
    """Refuse true values that the metric cannot work with, such as a negative price under RMSLE."""
    metric = plan.metric
    if not isinstance(metric, Metric):
        return
    answers = plan.answers(plan.train)
    for column in plan.targets:
        try:
            metric.parse_truth(answers[column].astype(str))
        except ValueError as error:
            raise CompetitionError(
                f"{plan.competition.folder}: public/train.csv: column {column!r}: {error}",
                hint=f"the metric is {plan.metric.name}",
            ) from None


# --- single expectations --------------------------------------------------------------------------


def _columns_exist(table: pd.DataFrame, names: Iterable[str]) -> list[_Expected]:
    hint = f"its columns are {', '.join(map(str, table.columns[:30]))}"
    return [
        _Expected(
            "ExpectColumnDistinctValuesToContainSet",
            {"column": "column", "value_set": [name]},
            lambda *_, name=name: f"has no column {name!r}",
            hint,
        )
        for name in names
    ]


def _column_set(expected: list[str], says: str, table: pd.DataFrame) -> _Expected:
    found = ", ".join(map(str, table.columns[:30]))
    return _Expected(
        "ExpectColumnDistinctValuesToEqualSet",
        {"column": "column", "value_set": expected},
        lambda *_: says.format(expected=", ".join(expected[:30]), found=found),
    )


def _ids(label: str, rows: int) -> list[_Expected]:
    return [
        _Expected(
            "ExpectColumnValuesToNotBeNull",
            {"column": _KEY},
            lambda count, _: f"no id ({label}) in {count} of {rows} rows",
        ),
        _Expected(
            "ExpectColumnValuesToBeUnique",
            {"column": _KEY},
            lambda _, first: f"the id {first!r} ({label}) appears twice",
        ),
    ]


def _asked(where: str, rows: int) -> _Expected:
    return _Expected(
        "ExpectColumnValuesToBeInSet",
        {"column": _ASKED, "value_set": [True]},
        lambda count, _: f"an id that is not {where} in {count} of {rows} rows",
    )


def _present(column: str, rows: int) -> _Expected:
    return _Expected(
        "ExpectColumnValuesToNotBeNull",
        {"column": column},
        lambda count, _: f"no {column!r} in {count} of {rows} rows",
    )


def _number(column: str, table: pd.DataFrame) -> _Expected:
    values = pd.to_numeric(table[column], errors="coerce")
    wrong = table[column][values.isna() & (table[column].str.strip() != "")]
    first = str(wrong.iloc[0])[:40] if len(wrong) else ""
    return _Expected(
        "ExpectColumnValuesToNotBeNull",
        {"column": column + _NUMBER},
        lambda count, _: (
            f"column {column!r}: no number in {count} of {len(table)} rows, for instance {first!r}"
        ),
    )


def _rows_at_least(count: int) -> _Expected:
    return _Expected(
        "ExpectTableRowCountToBeBetween",
        {"min_value": count},
        lambda *_: f"has fewer than {count} rows" if count > 1 else "has no rows",
    )


def _rows_equal(count: int) -> _Expected:
    return _Expected(
        "ExpectTableRowCountToEqual",
        {"value": count},
        lambda *_: f"does not have {count} rows, one for each row of test.csv",
    )


# --- running them ---------------------------------------------------------------------------------


def _failures(table: pd.DataFrame, checks: list[_Expected]) -> Iterator[tuple[str, str]]:
    """Yield line and hint of each check that `table` does not meet, in their order."""
    gx, whole = _library()
    batch = whole.get_batch({"dataframe": table})
    expectations = [
        getattr(gx.expectations, check.name)(**check.arguments, meta={"number": number})
        for number, check in enumerate(checks)
    ]
    result = batch.validate(gx.ExpectationSuite("expected", expectations=expectations))
    for each in sorted(result.results, key=lambda each: each.expectation_config.meta["number"]):
        if not each.success:
            check, found = checks[each.expectation_config.meta["number"]], dict(each.result)
            examples = found.get("partial_unexpected_list") or [""]
            yield check.says(int(found.get("unexpected_count", 0)), examples[0]), check.hint


@cache
def _library() -> tuple[Any, Any]:
    """Return Great Expectations and what makes a batch of a table; nothing is kept on disk."""
    import great_expectations as gx
    from great_expectations.data_context.types.base import (
        DataContextConfig,
        InMemoryStoreBackendDefaults,
    )

    for name in ("great_expectations", "great_expectations.data_context"):
        logging.getLogger(name).setLevel(logging.ERROR)
    config = DataContextConfig(
        store_backend_defaults=InMemoryStoreBackendDefaults(init_temp_docs_sites=False),
        progress_bars={"globally": False},
        analytics_enabled=False,
    )
    context = gx.get_context(mode="ephemeral", project_config=config)
    asset = context.data_sources.add_pandas("tables").add_dataframe_asset("table")
    return gx, asset.add_batch_definition_whole_dataframe("whole")


def _header_of(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"column": [str(name) for name in table.columns]})


def _blank_as_missing(table: pd.DataFrame) -> pd.DataFrame:
    """Return `table` with empty cells as missing values, which is what expectations look for."""
    shown = {name: table[name].where(table[name].str.strip() != "", None) for name in table.columns}
    return pd.DataFrame(shown, index=table.index)


def _texts(keys: pd.Index) -> list[str | None]:
    """Return one text for each key; None where it is empty."""
    parts = (key if isinstance(key, tuple) else (key,) for key in keys)
    return [" / ".join(map(str, part)) if all(map(str, part)) else None for part in parts]
