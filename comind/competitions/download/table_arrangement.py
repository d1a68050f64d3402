"""Bring the tables of a download into their usual form, step by step."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from comind.competitions.download.composed_ids import (
    add_composed_ids,
    add_parts_of_ids,
    add_targets_of_ids,
)
from comind.competitions.download.date_order import DAY_FIRST, order_dates
from comind.competitions.download.file_tables import (
    add_file_column,
    add_file_tables,
    add_files_without_rows,
)
from comind.competitions.download.findings import Finding
from comind.competitions.download.missing_tables import (
    add_ids,
    add_sample,
    join_train_tables,
    number_train_rows,
)
from comind.competitions.download.number_formats import convert_numbers
from comind.competitions.download.repeated_ids import join_repeated_ids
from comind.competitions.download.sample_form import (
    UploadForm,
    complete_sample,
    drop_labels_of_test,
    drop_other_columns,
    drop_unknown_columns,
    match_id_names,
    name_targets,
    rename_repeated_columns,
    split_one_table,
    upload_form,
)
from comind.competitions.download.table_formats import convert_tables
from comind.competitions.download.table_roles import TableColumns, arrange_tables
from comind.tables.table_files import is_sample, tables_of


def arrange_all_tables(
    public: Path, given: Mapping[str, Any]
) -> tuple[list[Finding], TableColumns, UploadForm]:
    """Bring the tables of a folder into their usual form; the last value is that of a submission.

    `given` is what competition.yaml says.

    Raises:
        OpenQuestionError: an answer is needed.
        CompetitionError: the tables are missing or ambiguous, or a file cannot be read.
    """
    converted = convert_tables(public)
    targets = given.get("target_columns") or ()
    targets = targets if isinstance(targets, list) else ()
    findings = [*rename_repeated_columns(public), *convert_numbers(public, converted.delimited)]
    findings += [*split_one_table(public), *add_file_tables(public), *join_train_tables(public)]
    findings += add_sample(public, targets)
    asked = next((tuple(names) for path, names in tables_of(public).items() if is_sample(path)), ())
    found, names = match_id_names(public)
    findings += [*found, *drop_labels_of_test(public)]
    found, constants = drop_other_columns(public, targets)
    findings += [
        *found,
        *add_composed_ids(public),
        *add_targets_of_ids(public),
        *add_parts_of_ids(public),
    ]
    findings += [*add_ids(public), *add_sample(public, targets), *complete_sample(public)]
    findings += number_train_rows(public)
    named = given.get("train_id_columns")
    columns = arrange_tables(public, named if isinstance(named, list) else ())
    found, columns, renamed = name_targets(public, columns, targets)
    findings += [*found, *drop_unknown_columns(public, columns), *join_repeated_ids(public, columns)]
    train_ids = columns.train_id_columns or columns.id_columns
    findings += add_file_column(public, {"train.csv": train_ids[0], "test.csv": columns.id_columns[0]})
    findings += add_files_without_rows(public, train_ids, columns.label_columns, columns.target_columns)
    first = given.get(DAY_FIRST)
    findings += order_dates(public, [first] if isinstance(first, str) else first)
    for usual, before in columns.renamed.items():
        if usual == "test.csv" and not before:
            findings.append(Finding(topic="test", text="made of the ids that the sample asks for"))
        elif before:
            original = converted.former.get(before, before)
            findings.append(Finding(topic=usual.partition(".")[0].partition("_")[0], text=f"{original}"))
    return findings, columns, upload_form(asked, columns, names | renamed, constants)
