"""What is expected of the tables of a competition that arrives.

Of rows: Great Expectations suites, each expectation with the one line that is said when it fails; the
one module that knows Great Expectations. Importing it takes seconds, so it is done on arrival alone.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd

from comind.domain.problem import AnswerKind
from comind.errors import CompetitionError
from comind.evaluation.grading import keys_of, parsed
from comind.evaluation.metrics import Metric
from comind.evaluation.splits.split_plan import SplitPlan

__all__ = ["check_arrival"]

_NUMBER_KINDS = (AnswerKind.NUMBER, AnswerKind.PROBABILITY)
_KEY, _ASKED, _NO_NUMBER = "\0id", "\0asked for", "\0no number"  # like no column of a table of text

_Says = Callable[[int, str], str]
"""(rows that fail, one of their values) -> line."""


@dataclass(frozen=True, slots=True)
class _Expected:
    """One expectation by name, its arguments, and what is said when it fails."""

    name: str
    arguments: dict[str, Any]
    says: _Says
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
    _check_columns(plan)
    tables = {
        "train.csv": _train_rows(plan, plan.train),
        "test.csv": _test_rows(plan, plan.test),
        "sample_submission.csv": _sample_rows(plan, plan.sample),
    }
    for name, (table, checks) in tables.items():
        for line, hint in _failures(table, checks):
            raise CompetitionError(f"{where}: public/{name}: {line}", hint=hint)
    _check_truth(plan)


def _check_columns(plan: SplitPlan) -> None:
    """Make sure that each table has the columns that the description and the others ask for."""
    where = f"{plan.competition.folder}: public"
    submitted = (*plan.ids, *plan.targets)
    asked = {
        "train.csv": (plan.train, (*plan.train_ids, *plan.labels)),
        "test.csv": (plan.test, plan.ids),
        "sample_submission.csv": (plan.sample, submitted),
    }
    for name, (table, columns) in asked.items():
        for column in columns:
            if column not in table.columns:
                hint = f"its columns are {_listed(table.columns)}"
                raise CompetitionError(f"{where}/{name} has no column {column!r}", hint=hint)
    for column in plan.test.columns:
        if column in plan.labels:
            raise CompetitionError(
                f"{where}/test.csv shows the label column {column!r}",
                hint="take it out of test.csv, or out of label_columns",
            )
        if column not in plan.train.columns and column not in plan.ids:
            raise CompetitionError(f"{where}/test.csv has a column {column!r} that train.csv has not")
    sample = f"{where}/sample_submission.csv has"
    if not plan.targets:
        raise CompetitionError(f"{sample} no column beside the ids")
    if set(plan.sample.columns) != set(submitted):
        found = _listed(plan.sample.columns)
        raise CompetitionError(f"{sample} columns {found}; a submission has {_listed(submitted)}")


# --- what is expected of each table ---------------------------------------------------------------


def _train_rows(plan: SplitPlan, table: pd.DataFrame) -> tuple[pd.DataFrame, list[_Expected]]:
    # Expectations look for missing values, where a table of text has empty cells.
    frame = table[list(plan.labels)].apply(lambda cells: cells.where(cells.str.strip() != "", None))
    frame[_KEY] = _texts(keys_of(table, list(plan.train_ids)))
    checks = [_rows_at_least(4), *_ids(plan.train_ids, len(table))]
    if not plan.metric.kind.may_be_blank:
        checks += [
            _filled(column, f"no {column!r}", len(table))
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
            _among(
                plan.labels[0],
                plan.targets,
                lambda count, first: (
                    f"the class {first!r} is not a target column ({count} of {len(table)} rows)"
                ),
                f"the target columns are {_listed(plan.targets)}",
            )
        )
    if plan.metric.kind in _NUMBER_KINDS:
        for column in (name for name in plan.targets if name in table.columns):
            wrong = pd.to_numeric(table[column], errors="coerce").isna()
            frame[column + _NO_NUMBER] = table[column].where(wrong, None)
            checks.append(_number(column, len(table)))
    return frame, checks


def _test_rows(plan: SplitPlan, table: pd.DataFrame) -> tuple[pd.DataFrame, list[_Expected]]:
    frame = pd.DataFrame({_KEY: _texts(keys_of(table, list(plan.ids)))})
    return frame, [_rows_at_least(1), *_ids(plan.ids, len(table))]


def _sample_rows(plan: SplitPlan, table: pd.DataFrame) -> tuple[pd.DataFrame, list[_Expected]]:
    keys, asked = (keys_of(each, list(plan.ids)) for each in (table, plan.test))
    frame = pd.DataFrame({_KEY: _texts(keys), _ASKED: keys.isin(asked)})
    return frame, [
        _Expected(
            "ExpectTableRowCountToEqual",
            {"value": len(asked)},
            lambda *_: f"does not have {len(asked)} rows, one for each row of test.csv",
        ),
        *_ids(plan.ids, len(table)),
        _among(
            _ASKED,
            [True],
            lambda count, _: f"an id that is not in test.csv in {count} of {len(table)} rows",
        ),
    ]


def _check_truth(plan: SplitPlan) -> None:
    """Refuse true values that the metric cannot work with, such as a negative price under RMSLE."""
    metric = plan.metric
    if not isinstance(metric, Metric):
        return
    answers = plan.answers(plan.train).astype(str)
    try:
        parsed(metric.parse_truth, answers, plan.targets, CompetitionError)
    except CompetitionError as error:
        where = f"{plan.competition.folder}: public/train.csv"
        raise CompetitionError(f"{where}: {error}", hint=f"the metric is {metric.name}") from None


# --- single expectations --------------------------------------------------------------------------


def _ids(names: Sequence[str], rows: int) -> list[_Expected]:
    label = " and ".join(names)
    return [
        _filled(_KEY, f"no id ({label})", rows),
        _Expected(
            "ExpectColumnValuesToBeUnique",
            {"column": _KEY},
            lambda _, first: f"the id {first!r} ({label}) appears twice",
        ),
    ]


def _filled(column: str, otherwise: str, rows: int) -> _Expected:
    return _Expected(
        "ExpectColumnValuesToNotBeNull",
        {"column": column},
        lambda count, _: f"{otherwise} in {count} of {rows} rows",
    )


def _among(column: str, values: Iterable[object], says: _Says, hint: str = "") -> _Expected:
    arguments = {"column": column, "value_set": list(values)}
    return _Expected("ExpectColumnValuesToBeInSet", arguments, says, hint)


def _number(column: str, rows: int) -> _Expected:
    return _Expected(
        "ExpectColumnValuesToBeNull",
        {"column": column + _NO_NUMBER},
        lambda count, first: (
            f"column {column!r}: no number in {count} of {rows} rows, for instance {first[:40]!r}"
        ),
    )


def _rows_at_least(count: int) -> _Expected:
    return _Expected(
        "ExpectTableRowCountToBeBetween",
        {"min_value": count},
        lambda *_: f"has fewer than {count} rows" if count > 1 else "has no rows",
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


def _listed(names: Iterable[object]) -> str:
    return ", ".join(map(str, list(names)[:30]))


def _texts(keys: pd.Index) -> list[str | None]:
    """Return one text for each key; None where it is empty."""
    parts = (key if isinstance(key, tuple) else (key,) for key in keys)
    return [" / ".join(map(str, part)) if all(map(str, part)) else None for part in parts]
