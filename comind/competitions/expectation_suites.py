"""Write a competition's tables as expectations: suites, their validation result and its page.

The one module that imports Great Expectations, which takes seconds; it is imported on use. Nothing is
sent anywhere, and no page needs the network.
"""

import json
import logging
import math
import re
from collections.abc import Iterator
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, ClassVar

import great_expectations as gx
import pandas as pd
from great_expectations.data_context.types.base import DataContextConfig, InMemoryStoreBackendDefaults
from great_expectations.execution_engine import PandasExecutionEngine
from great_expectations.expectations.expectation import ColumnMapExpectation
from great_expectations.expectations.metrics import ColumnMapMetricProvider, column_condition_partial
from great_expectations.render import LegacyRendererType, RenderedStringTemplateContent
from great_expectations.render.renderer import ValidationResultsPageRenderer
from great_expectations.render.renderer.renderer import renderer
from great_expectations.render.view import DefaultJinjaPageView

from comind.competitions.data import CompetitionData
from comind.competitions.table_form import NUMBER, CellRule, TableForm, forms_of
from comind.metrics import is_known_metric, known_metric
from comind.system.files import write_atomically
from comind.tables.mapped_table import take_rows

_MOST_ROWS = 500_000
_COUNTS_ONLY = {"result_format": "BASIC", "partial_unexpected_count": 0}


class _CellsReadByMetric(ColumnMapMetricProvider):  # type: ignore[misc]
    """Decides for each cell whether a metric reads it."""

    condition_metric_name = "column_values.read_by_metric"
    condition_value_keys = ("metric", "truth")

    @column_condition_partial(engine=PandasExecutionEngine)  # type: ignore[untyped-decorator]
    def _pandas(cls, column: pd.Series, metric: str, truth: bool, **_: Any) -> Any:  # noqa: N805
        known = known_metric(metric)
        parse = known.parse_truth if truth else known.parse
        return ~CellRule("", parse=parse).invalid_cells(column)


class ExpectColumnValuesToBeReadByMetric(ColumnMapExpectation):  # type: ignore[misc]
    """Expect each cell to be a valid prediction, or with `truth` a valid true value, of a metric."""

    map_metric: ClassVar[str] = "column_values.read_by_metric"
    success_keys: ClassVar[tuple[str, ...]] = ("metric", "truth", "mostly")
    metric: str
    truth: bool = False

    @classmethod
    @renderer(renderer_type=LegacyRendererType.PRESCRIPTIVE)  # type: ignore[untyped-decorator]
    def _prescriptive_renderer(
        cls, configuration: Any = None, result: Any = None, runtime_configuration: Any = None
    ) -> list[Any]:
        """Return the sentence that the page shows."""
        del runtime_configuration
        found = (configuration or result.expectation_config).kwargs
        what = "true values" if found.get("truth") else "predictions"
        template = {"template": f"values must be valid {what} for $metric.", "params": found}
        return [RenderedStringTemplateContent(string_template=template)]


def suite_of(form: TableForm, *, rows: int | None = None) -> Any:
    """Return the suite of expectations that holds where `form` has no fault.

    `rows` is the number of rows of a sample that the suite is for.
    """
    expectations = [*_of_columns(form), *_of_rows(form, rows)]
    for rule in form.cells:
        expectations += [each for each in _of_cells(rule) if each not in expectations]
    return gx.ExpectationSuite(form.name, expectations=expectations)


def validate(form: TableForm, frame: pd.DataFrame) -> Any:
    """Return the result of validating a table of text; it has counts, but no cells of the table.

    Of more than half a million rows at most so many are validated, spread evenly; `meta` says so.
    """
    step = math.ceil(len(frame) / _MOST_ROWS)
    part = take_rows(frame, slice(None, None, step)) if step > 1 else frame
    suite = suite_of(form, rows=len(part) if step > 1 else None)
    batch = _whole_table().get_batch({"dataframe": form.normalized(part)})
    result = batch.validate(suite, result_format=_COUNTS_ONLY)
    result.meta = {"great_expectations_version": gx.__version__, "table": form.name}  # no hash of labels
    if step > 1:
        result.meta |= {"looked_at": f"{len(part):,} of {len(frame):,} rows"}
    return result


def write_checks(data: CompetitionData, folder: Path) -> None:
    """Write suites, validation result and page of a competition's tables into `folder`.

    The tables are those of the competition: train, test and sample submission; the suite of a submission
    is for later use.
    """
    forms = forms_of(data)
    folder.mkdir()
    tables = ((forms.train, data.train), (forms.test, data.test), (forms.sample, data.sample))
    results = {form.name: validate(form, frame) for form, frame in tables}
    for form in (forms.train, forms.test, forms.sample, forms.submission):
        name = form.name.replace(".csv", ".suite.json")
        write_atomically(folder / name, _json(suite_of(form).to_json_dict()))
    found = {name: result.to_json_dict() for name, result in results.items()}
    write_atomically(folder / "validation.json", _json(found))
    write_atomically(folder / "index.html", _page(data, list(results.values())))


def _of_columns(form: TableForm) -> Iterator[Any]:
    expected = [*form.columns, *form.expected_ids().values()]
    yield gx.expectations.ExpectTableColumnsToMatchSet(
        column_set=expected, exact_match=not form.other_columns
    )


def _of_rows(form: TableForm, rows: int | None) -> Iterator[Any]:
    if form.keys is not None:
        yield gx.expectations.ExpectTableRowCountToEqual(value=rows or len(form.keys))
    elif form.min_rows:
        yield gx.expectations.ExpectTableRowCountToBeBetween(min_value=form.min_rows)
    for name in form.key:
        yield gx.expectations.ExpectColumnValuesToNotBeNull(column=name)
    if len(form.key) == 1:
        yield gx.expectations.ExpectColumnValuesToBeUnique(column=form.key[0])
    else:
        yield gx.expectations.ExpectCompoundColumnsToBeUnique(
            column_list=list(form.key), ignore_row_if="any_value_is_missing"
        )
    for name, expected in form.expected_ids().items():
        yield gx.expectations.ExpectColumnPairValuesToBeEqual(
            column_A=name, column_B=expected, ignore_row_if="neither"
        )


def _of_cells(rule: CellRule) -> Iterator[Any]:
    column = rule.column
    if rule.refuses_blank:
        yield gx.expectations.ExpectColumnValuesToNotBeNull(column=column)
    if rule.distinct:
        yield gx.expectations.ExpectColumnUniqueValueCountToBeBetween(
            column=column, min_value=rule.distinct
        )
    if rule.classes:
        yield gx.expectations.ExpectColumnValuesToBeInSet(column=column, value_set=list(rule.classes))
    if rule.number:
        yield gx.expectations.ExpectColumnValuesToMatchRegex(column=column, regex=NUMBER)
    if is_known_metric(rule.metric):
        yield ExpectColumnValuesToBeReadByMetric(column=column, metric=rule.metric, truth=rule.truth)


@cache
def _whole_table() -> Any:
    """Return a batch definition for tables in memory; nothing is stored and nothing sent."""
    for name in ("great_expectations", "great_expectations.data_context"):
        logging.getLogger(name).setLevel(logging.ERROR)
    config = DataContextConfig(
        store_backend_defaults=InMemoryStoreBackendDefaults(init_temp_docs_sites=False),
        progress_bars={"globally": False},
        analytics_enabled=False,
    )
    context = gx.get_context(mode="ephemeral", project_config=config)
    asset = context.data_sources.add_pandas("tables").add_dataframe_asset("table")
    return asset.add_batch_definition_whole_dataframe("whole")


def _json(value: object) -> str:
    return json.dumps(value, indent=2, sort_keys=True) + "\n"


def _page(data: CompetitionData, results: list[Any]) -> str:
    """Return one page of Data Docs with all results, without scripts and links to other hosts."""
    bodies = []
    for result in results:
        document = ValidationResultsPageRenderer().render(result)
        page = DefaultJinjaPageView().render(document, template="page_minimal.j2")
        body = page.partition("<body>")[2].partition("</body>")[0]
        looked_at = "".join(f"<p>{each}</p>" for each in [result.meta.get("looked_at")] if each)
        bodies.append(f"<h1>{escape(result.meta['table'])}</h1>{looked_at}\n{_without_scripts(body)}")
    title = escape(f"{data.competition.id}: validation of the tables")
    head = f'<meta charset="UTF-8"><title>{title}</title><style>{_STYLE}</style>'
    return f"<!DOCTYPE html>\n<html><head>{head}</head><body>{''.join(bodies)}</body></html>\n"


def _without_scripts(body: str) -> str:
    found = re.sub(r"<script\b.*?</script>", "", body, flags=re.DOTALL | re.IGNORECASE)
    found = re.sub(r"<(?:link|img)\b[^>]*>", "", found, flags=re.IGNORECASE)
    found = re.sub(r'href="(?:https?:|[./]*expectations/)[^"]*"', "", found)
    return found.replace("Data asset: None<br>", "")


_STYLE = """
body { font: 15px/1.45 sans-serif; max-width: 70em; margin: 2em auto; color: #222; }
h1 { font-size: 1.4em; border-bottom: 2px solid #444; }
table { border-collapse: collapse; width: 100%; }
th, td { border: 1px solid #ccc; padding: 0.3em 0.6em; text-align: left; vertical-align: top; }
.badge { background: #eee; border-radius: 3px; padding: 0 0.3em; }
.text-success::before { content: "\\2713"; color: #2a7a2a; }
.text-danger::before { content: "\\2717"; color: #b02020; }
h5 { font-size: 1.1em; margin: 1.2em 0 0.4em; }
h6 { font-size: 1em; margin: 0.6em 0; }
.collapse, [data-toggle=collapse] { display: none; }
.text-center { text-align: center; }
"""
