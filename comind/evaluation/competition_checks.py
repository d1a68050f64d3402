"""Validate a new competition: tables, side files, and whether it can be split and graded.

Rows are validated by Great Expectations, each expectation with a one-line message for its failure. It
takes seconds to import, so it is imported on use.
"""

import logging
import wave
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from comind.domain.competition import Competition
from comind.domain.problem import AnswerKind
from comind.errors import CompetitionError
from comind.evaluation.competition_folder import check_public_folder
from comind.evaluation.csv_tables import read_table, row_keys
from comind.evaluation.data_profile.media import IMAGE_SUFFIXES
from comind.evaluation.grading import parse_columns
from comind.evaluation.metrics import Metric
from comind.evaluation.scripts.generated_plan import plan_without_metric
from comind.evaluation.splits.leakage import leaking_tables, list_files, normalized_path
from comind.evaluation.splits.split_plan import SplitPlan

__all__ = ["check_competition"]

_NUMBER_KINDS = (AnswerKind.NUMBER, AnswerKind.PROBABILITY)
_KEY, _EXPECTED, _NO_NUMBER = "\0id", "\0asked for", "\0no number"  # unlike any column in a text file
_FILES_LOOKED_AT = 2_000
_NAMING = 0.5  # minimum share of cells that name files, for a column of file names

_Message = Callable[[int, str], str]
"""(number of failing rows, one of their values) -> error message."""


@dataclass(frozen=True, slots=True)
class _Expectation:
    """An expectation by name, with its arguments and the message for its failure."""

    name: str
    arguments: dict[str, Any]
    message: _Message
    hint: str = ""


def check_competition(competition: Competition) -> SplitPlan:
    """Validate that a competition can be split, solved and graded; return the plan of its split.

    Raises:
        CompetitionError: the first problem, with a hint how to mend it.
    """
    check_public_folder(competition)
    plan = plan_without_metric(competition) if competition.metric is None else SplitPlan(competition, 0)
    _check_tables(plan)
    plan.validation_rows()
    for path in leaking_tables(plan, competition.public):
        read_table(path, CompetitionError)
    files = list_files(competition.public)
    for table, name in ((plan.train, "train.csv"), (plan.test, "test.csv")):
        _check_named_files(competition, table, name, files)
    _check_side_files(competition)
    return plan


def _check_tables(plan: SplitPlan) -> None:
    """Validate a competition's tables against its description and each other.

    Raises:
        CompetitionError: the first expectation that fails.
    """
    where = plan.competition.folder
    if plan.metric.kind is AnswerKind.CLASS_PROBABILITIES and len(plan.targets) == 1:
        raise CompetitionError(
            f"{where}: {plan.metric.name} requires a target column for each class, not one",
            hint="for two classes and one column the metric is log-loss",
        )
    _check_columns(plan)
    test = pd.DataFrame({_KEY: _key_texts(row_keys(plan.test, list(plan.ids)))})
    tables = {
        "train.csv": _train_rows(plan, plan.train),
        "test.csv": (test, [_min_rows(1), *_unique_ids(plan.ids, len(test))]),
        "sample_submission.csv": _sample_rows(plan, plan.sample),
    }
    for name, (table, checks) in tables.items():
        for line, hint in _validate(table, checks):
            raise CompetitionError(f"{where}: public/{name}: {line}", hint=hint)
    _check_truth(plan)


def _check_columns(plan: SplitPlan) -> None:
    """Check that each table has the columns that the description and the other tables require."""
    where = f"{plan.competition.folder}: public"
    submitted = (*plan.ids, *plan.targets)
    expected = {
        "train.csv": (plan.train, (*plan.train_ids, *plan.labels)),
        "test.csv": (plan.test, plan.ids),
        "sample_submission.csv": (plan.sample, submitted),
    }
    for name, (table, columns) in expected.items():
        for column in columns:
            if column not in table.columns:
                hint = f"its columns are {_join_names(table.columns)}"
                raise CompetitionError(f"{where}/{name} has no column {column!r}", hint=hint)
    for column in plan.test.columns:
        if column in plan.labels:
            raise CompetitionError(
                f"{where}/test.csv shows the label column {column!r}",
                hint="take it out of test.csv, or out of label_columns",
            )
        if column not in plan.train.columns and column not in plan.ids:
            raise CompetitionError(
                f"{where}/test.csv has a column {column!r} that train.csv does not have"
            )
    sample = f"{where}/sample_submission.csv has"
    if not plan.targets:
        raise CompetitionError(f"{sample} no column beside the ids")
    if set(plan.sample.columns) != set(submitted):
        found = _join_names(plan.sample.columns)
        raise CompetitionError(f"{sample} columns {found}; a submission has {_join_names(submitted)}")


def _check_named_files(
    competition: Competition, table: pd.DataFrame, name: str, files: set[str]
) -> None:
    """Check that all files exist that a column of file names refers to."""
    for column in table.columns:
        cells = table[column]
        if not cells.head(50).str.contains(r"\.\w{2,5}$", regex=True).mean() > _NAMING:
            continue
        there = [normalized_path(cell) in files for cell in cells]
        if _NAMING < sum(there) / max(1, len(there)) < 1:
            missing = cells.iloc[there.index(False)]
            raise CompetitionError(
                f"{competition.folder}: public/{name}: the file {missing!r} of column {column!r} "
                f"is missing ({there.count(False)} of {len(there)} are)",
                hint="names are relative to public/",
            )


def _check_side_files(competition: Competition) -> None:
    """Read the headers of images and sounds, up to a limit; reject unreadable files."""
    files = (path for path in sorted(competition.public.rglob("*")) if path.suffix.lower() in _READERS)
    for path, _ in zip(files, range(_FILES_LOOKED_AT), strict=False):
        if path.is_dir():
            continue
        try:
            _READERS[path.suffix.lower()](path)
        except Exception as error:  # noqa: BLE001 - a decoder fails on strange bytes in any way
            reason = str(error).partition(" '")[0] or "it ends too early"
            relative = path.relative_to(competition.folder)
            raise CompetitionError(
                f"{competition.folder}: {relative} cannot be read ({reason})",
                hint="repair or remove the file",
            ) from None


def _read_image(path: Path) -> None:
    from PIL import Image

    with Image.open(path) as image:
        image.verify()


def _read_audio(path: Path) -> None:
    try:
        with wave.open(str(path)) as sound:
            sound.getnframes()
    except wave.Error as error:
        if "unknown format" not in str(error):  # wave supports PCM only; other codecs are valid
            raise


_READERS: dict[str, Callable[[Path], None]] = {
    **dict.fromkeys(IMAGE_SUFFIXES, _read_image),
    ".wav": _read_audio,
}


def _train_rows(plan: SplitPlan, table: pd.DataFrame) -> tuple[pd.DataFrame, list[_Expectation]]:
    # Expectations test for missing values; in a table of text these are empty cells.
    frame = table[list(plan.labels)].apply(lambda cells: cells.where(cells.str.strip() != "", None))
    frame[_KEY] = _key_texts(row_keys(table, list(plan.train_ids)))
    checks = [_min_rows(4), *_unique_ids(plan.train_ids, len(table))]
    if not plan.metric.kind.may_be_blank:
        checks += [
            _not_null(column, f"no {column!r}", len(table))
            for column in plan.labels
            if column in plan.targets or plan.one_hot
        ]
    if plan.metric.kind.of_classes and len(plan.labels) == 1:
        checks.append(
            _Expectation(
                "ExpectColumnUniqueValueCountToBeBetween",
                {"column": plan.labels[0], "min_value": 2},
                lambda *_: f"every row has the same {plan.labels[0]!r}; there is nothing to classify",
            )
        )
    if plan.one_hot:
        checks.append(
            _in_set(
                plan.labels[0],
                plan.targets,
                lambda count, first: (
                    f"the class {first!r} is not a target column ({count} of {len(table)} rows)"
                ),
                f"the target columns are {_join_names(plan.targets)}",
            )
        )
    if plan.metric.kind in _NUMBER_KINDS:
        for column in (name for name in plan.targets if name in table.columns):
            wrong = pd.to_numeric(table[column], errors="coerce").isna()
            frame[column + _NO_NUMBER] = table[column].where(wrong, None)
            checks.append(_is_number(column, len(table)))
    return frame, checks


def _sample_rows(plan: SplitPlan, table: pd.DataFrame) -> tuple[pd.DataFrame, list[_Expectation]]:
    keys, expected = (row_keys(each, list(plan.ids)) for each in (table, plan.test))
    frame = pd.DataFrame({_KEY: _key_texts(keys), _EXPECTED: keys.isin(expected)})
    return frame, [
        _Expectation(
            "ExpectTableRowCountToEqual",
            {"value": len(expected)},
            lambda *_: f"does not have {len(expected)} rows, one for each row of test.csv",
        ),
        *_unique_ids(plan.ids, len(table)),
        _in_set(
            _EXPECTED,
            [True],
            lambda count, _: f"an id that is not in test.csv in {count} of {len(table)} rows",
        ),
    ]


def _check_truth(plan: SplitPlan) -> None:
    """Reject true values that are invalid for the metric, such as negative prices for RMSLE."""
    metric = plan.metric
    if not isinstance(metric, Metric):
        return
    answers = plan.answers(plan.train).astype(str)
    try:
        parse_columns(metric.parse_truth, answers, plan.targets, CompetitionError)
    except CompetitionError as error:
        where = f"{plan.competition.folder}: public/train.csv"
        raise CompetitionError(f"{where}: {error}", hint=f"the metric is {metric.name}") from None


def _unique_ids(names: Sequence[str], rows: int) -> list[_Expectation]:
    label = " and ".join(names)
    return [
        _not_null(_KEY, f"no id ({label})", rows),
        _Expectation(
            "ExpectColumnValuesToBeUnique",
            {"column": _KEY},
            lambda _, first: f"the id {first!r} ({label}) appears twice",
        ),
    ]


def _not_null(column: str, otherwise: str, rows: int) -> _Expectation:
    return _Expectation(
        "ExpectColumnValuesToNotBeNull",
        {"column": column},
        lambda count, _: f"{otherwise} in {count} of {rows} rows",
    )


def _in_set(column: str, values: Iterable[object], message: _Message, hint: str = "") -> _Expectation:
    arguments = {"column": column, "value_set": list(values)}
    return _Expectation("ExpectColumnValuesToBeInSet", arguments, message, hint)


def _is_number(column: str, rows: int) -> _Expectation:
    return _Expectation(
        "ExpectColumnValuesToBeNull",
        {"column": column + _NO_NUMBER},
        lambda count, first: (
            f"column {column!r}: no number in {count} of {rows} rows, for instance {first[:40]!r}"
        ),
    )


def _min_rows(count: int) -> _Expectation:
    return _Expectation(
        "ExpectTableRowCountToBeBetween",
        {"min_value": count},
        lambda *_: f"has fewer than {count} rows" if count > 1 else "has no rows",
    )


def _validate(table: pd.DataFrame, checks: list[_Expectation]) -> Iterator[tuple[str, str]]:
    """Yield message and hint of each check that `table` fails, in order."""
    gx, whole = _gx_batch()
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
            yield check.message(int(found.get("unexpected_count", 0)), examples[0]), check.hint


@cache
def _gx_batch() -> tuple[Any, Any]:
    """Return Great Expectations and a batch definition for tables in memory; nothing is stored."""
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


def _join_names(names: Iterable[object]) -> str:
    return ", ".join(map(str, list(names)[:30]))


def _key_texts(keys: pd.Index) -> list[str | None]:
    """Return each key as text; None for empty keys."""
    parts = (key if isinstance(key, tuple) else (key,) for key in keys)
    return [" / ".join(map(str, part)) if all(map(str, part)) else None for part in parts]
