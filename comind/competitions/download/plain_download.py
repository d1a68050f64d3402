"""Arrange the files of a competition, as they were downloaded, as a competition folder.

<target>/public/             files under their usual names; linked, so that no space is taken
<target>/competition.yaml    what was inferred; a changed one is kept
<target>/row_files.csv       the files of each row, where rows have some
<target>/layout.json         what the folder was made from
"""

import contextlib
import hashlib
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from comind.competitions.download.date_order import DAY_FIRST
from comind.competitions.download.description_page import read_description, title_of
from comind.competitions.download.findings import Finding, OpenQuestionError, Question
from comind.competitions.download.label_lists import LabelLists, separate_labels
from comind.competitions.download.page_metric import different_cells, find_page_metric, may_be_blank
from comind.competitions.download.sample_form import (
    UploadForm,
    set_aside_unlabelled,
)
from comind.competitions.download.table_arrangement import arrange_all_tables
from comind.competitions.download.table_roles import TableColumns
from comind.competitions.download.taken_files import take_files
from comind.competitions.row_file_list import ROW_FILES, write_row_files
from comind.domain.competition import MetricFunction
from comind.domain.value import Value
from comind.errors import CompetitionError
from comind.system.failpoints import failpoint
from comind.system.files import copy_plain_tree, hash_file, write_atomically
from comind.system.locks import exclusive
from comind.system.temporary_folders import staged_folder
from comind.tables.table_files import count_rows, forget_tables, header

_LOCK_SECONDS = 3600
_VERSION = 3  # raise it when the same files give another folder
_MANY = 20  # target columns that are not listed
_TABLES = ("train.csv", "test.csv")
_EXAMPLE_ROWS = 5
_CODE_PAGE = re.compile(
    r"code[- ]competition|notebooks?[- ]only|"
    r"(?:submi\w+|made) (?:\w+ ){0,4}(?:through|via) (?:\w+ )?notebooks?",
    re.IGNORECASE,
)
_SHOWN = 6
_HINT = "rename the file, or write what is open into a competition.yaml beside the files"


class Layout(Value):
    """Facts inferred about a download, and the folder that was made of it."""

    folder: Path
    findings: tuple[Finding, ...] = ()
    kept: bool = False
    """Whether competition.yaml was changed by hand, and left as it is."""

    def lines(self) -> list[str]:
        """Return the report, a line for each finding."""
        return [finding.line() for finding in self.findings]

    def questions(self) -> list[Question]:
        """Return what the user has to decide and competition.yaml does not say."""
        given = _read_yaml(self.folder / "competition.yaml")
        asked = (each.question for each in self.findings if each.question is not None)
        return [question for question in asked if question.key not in given]


class _Record(Value):
    """The content of layout.json."""

    source: str
    sha256: str
    """Of names, sizes and times of the files, and of the user's answers."""
    described_sha256: str
    upload_columns: tuple[str, ...] = ()
    """Columns of the downloaded sample submission, if it was changed here."""
    upload_names: dict[str, str] = {}
    upload_constants: dict[str, str] = {}
    upload_lists: LabelLists = LabelLists()
    code_competition: bool = False
    findings: tuple[Finding, ...]
    answers: dict[str, str | list[str]] = {}
    """The user's decisions, by key of competition.yaml."""


def arrange_download(
    source: Path,
    target: Path,
    *,
    describe: str = "",
    answers: Mapping[str, str | list[str]] | None = None,
) -> Layout:
    """Arrange a downloaded folder or archive as the competition folder `target`; idempotent.

    The source is only read. Values of a `competition.yaml` in it replace inferred ones, `answers` are
    further such values, and `describe` is the description where no file is one.

    Raises:
        OpenQuestionError: an answer is needed to arrange the tables.
        CompetitionError: the tables are missing or ambiguous, or a file cannot be read.
        DiskError: there is not enough disk space to unpack an archive.
        ServiceError: another process has been arranging it for an hour.
    """
    with exclusive(target.parent / f".{target.name}.lock", _LOCK_SECONDS, f"arrange {source.name}"):
        data = source / "public" if (source / "public").is_dir() else source
        sha256 = _digest(data, describe)
        record = _read_record(target)
        described = target / "competition.yaml"
        complete = (target / "public").is_dir() and described.is_file()
        if record is None or record.sha256 != sha256 or not complete or answers:
            given = {**(record.answers if record else {}), **(answers or {})}
            try:
                record = _arrange(source, data, target, describe, sha256, record, given)
            except CompetitionError:
                with contextlib.suppress(OSError):  # it is not empty, or was not made
                    target.rmdir()
                raise
            finally:
                forget_tables()
        kept = hash_file(described) != record.described_sha256
        return Layout(folder=target, findings=record.findings, kept=kept)


def _arrange(
    source: Path,
    data: Path,
    target: Path,
    describe: str,
    sha256: str,
    before: _Record | None,
    answers: Mapping[str, str | list[str]],
) -> _Record:
    described = target / "competition.yaml"
    own = described.is_file() and (before is None or hash_file(described) != before.described_sha256)
    given = {**_given(source), **answers}
    target.mkdir(exist_ok=True)
    files = target / f".files-{sha256[:12]}"
    for former in (target / "public", *target.glob(".new-*"), *target.glob(".files-*")):
        if former != files:  # what a killed run has unpacked is used
            shutil.rmtree(former, ignore_errors=True)
    with staged_folder(target / "public") as public:
        try:
            linked = take_files(data, files)
            failpoint("download-unpacked")
            copy_plain_tree(files, public, link=lambda _: True)
            _move_up(public)
            text = read_description(public, describe)
            findings, columns, upload = arrange_all_tables(public, given)
        except CompetitionError as error:
            shutil.rmtree(files)
            raise _located(error, source, files, public) from None
        if text:
            write_atomically(public / "description.md", text + "\n")
        named, metric = find_page_metric(public, text, columns, given, source)
        scored_by = named.get("metric") or given.get("metric")
        of_labels, lists = _arrange_labels(source, public, columns, scored_by)
        code = _code_finding(public, text)
        found = [*of_labels, *_column_findings(public, columns), *([code] if code else [])]
        findings = [*linked, *findings, *found, metric]
        described_as = {key: value for key, value in {**named, **given}.items() if key != DAY_FIRST}
        yaml_text = _competition_yaml(source, target.name, text, columns, described_as)
    _link_further_folders(source, target)
    if not own:
        write_atomically(described, yaml_text)
    _move_metric_file(source, target, given)
    record = _Record(
        source=str(source),
        sha256=sha256,
        described_sha256=before.described_sha256 if own and before else hash_file(described),
        upload_columns=upload.columns,
        upload_names=upload.names,
        upload_constants=upload.constants,
        upload_lists=lists,
        code_competition=code is not None,
        findings=tuple(findings),
        answers=dict(answers),
    )
    ids = columns.id_columns, columns.train_id_columns or columns.id_columns
    write_row_files(target / "public", *ids, target / ROW_FILES, empty=False)
    write_atomically(target / "layout.json", record.model_dump_json(indent=2) + "\n")
    shutil.rmtree(files, ignore_errors=True)
    return record


def _link_further_folders(source: Path, target: Path) -> None:
    for name in ("private", "leaderboard", "community"):
        if (source / name).is_dir() and not (target / name).exists():
            (target / name).symlink_to((source / name).absolute())


def _arrange_labels(
    source: Path, public: Path, columns: TableColumns, metric: object
) -> tuple[list[Finding], LabelLists]:
    """Bring the labels into the form that the metric compares, and set rows without one aside."""
    try:
        found, lists = separate_labels(public, columns, metric)
    except CompetitionError as error:
        raise _located(error, source, public) from None
    if not may_be_blank(metric, public, columns):
        found += set_aside_unlabelled(public, columns)
    return found, lists


def _move_metric_file(source: Path, target: Path, given: Mapping[str, Any]) -> None:
    """Place the file of a metric that is a function beside competition.yaml, out of agents' sight."""
    try:
        file = MetricFunction.model_validate(given.get("metric")).function.rpartition(":")[0]
    except ValidationError:
        return
    if file and (source / file).is_file():
        write_atomically(target / file, (source / file).read_bytes())
        (target / "public" / file).unlink(missing_ok=True)


def _located(error: CompetitionError, source: Path, *staged: Path) -> CompetitionError:
    """Return the error with names of files as the download has them."""
    shown = str(error)
    for folder in staged:
        shown = shown.replace(f"{folder}: ", "").replace(f"{folder}/", "")
    hint = error.hint or _HINT
    if isinstance(error, OpenQuestionError):
        return OpenQuestionError(f"{source}: {shown}", error.question, hint=hint)
    return CompetitionError(f"{source}: {shown}", hint=hint)


def _move_up(public: Path) -> None:
    """Remove a single outer folder, and give the description the name that archives reserve."""
    page = public / "given_description.md"  # its name is reserved in archives of Kaggle
    if page.is_file():
        page.rename(public / "description.md")
    inner = list(public.iterdir())
    while len(inner) == 1 and inner[0].is_dir():
        for path in list(inner[0].iterdir()):
            path.rename(public / f".{path.name}.moved")
        inner[0].rmdir()
        for path in list(public.iterdir()):
            path.rename(public / path.name.removeprefix(".").removesuffix(".moved"))
        inner = list(public.iterdir())
    if not inner:
        raise CompetitionError("has no files")


def _column_findings(public: Path, columns: TableColumns) -> list[Finding]:
    """Return what rows, ids and labels there are."""
    counts = {name: count_rows(public / name) for name in _TABLES}
    ids = ", ".join(columns.id_columns)
    values = sorted(different_cells(public / "train.csv", columns.label_columns))
    values = values if len(columns.label_columns) == 1 else [value for value in values if value.strip()]
    few = f": {_shown(values)}" if len(values) <= _MANY else ""
    findings = [
        Finding(
            topic="rows",
            text=f"{counts['train.csv']:,} labelled, {counts['test.csv']:,} to predict; ids: {ids}",
        ),
        Finding(
            topic="predict",
            text=f"{_shown(columns.target_columns)} from the labels {_shown(columns.label_columns)} "
            f"({len(values):,} different values{few})",
        ),
    ]
    train_only = set(header(public / "train.csv")) - set(header(public / "test.csv"))
    withheld = sorted(
        train_only - {*columns.label_columns, *columns.train_id_columns, *columns.id_columns}
    )
    if withheld:
        text = f"{_shown(withheld)}: only train.csv has them, so validation rows are without them, too"
        findings.append(Finding(topic="withheld", text=text))
    return findings


def _code_finding(public: Path, text: str) -> Finding | None:
    """Return what can be done in a competition that runs notebooks on hidden rows, if it is one."""
    found = _CODE_PAGE.search(text)
    if found is None:
        rows = [count_rows(public / name) for name in _TABLES]
        if rows[0] <= 100 * _EXAMPLE_ROWS or rows[1] > _EXAMPLE_ROWS:
            return None
    why = f"the page says {found[0]!r}" if found else "test.csv is an example"
    return Finding(
        topic="code",
        text=f"{why}, so notebooks are run on hidden rows: validation is real, but submit the script of "
        "the best attempt as a notebook, not submission.csv",
    )


def _competition_yaml(
    source: Path, name: str, text: str, columns: TableColumns, given: Mapping[str, Any]
) -> str:
    many = len(columns.target_columns) > _MANY
    values: dict[str, Any] = {"id": name, "title": title_of(text) or name}
    values["id_columns"] = list(columns.id_columns)
    if columns.train_id_columns:
        values["train_id_columns"] = list(columns.train_id_columns)
    values["label_columns"] = list(columns.label_columns)
    values["target_columns"] = "sample_submission" if many else list(columns.target_columns)
    head = f"# Inferred from {source.name}. Change this file freely: it is not written again then.\n"
    return head + yaml.safe_dump({**values, **given}, sort_keys=False, allow_unicode=True)


def _given(source: Path) -> dict[str, Any]:
    """Return the values of a competition.yaml among the files."""
    path = source / "competition.yaml"
    return _read_yaml(path) if source.is_dir() and path.is_file() else {}


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, ValueError, OSError):
        raise CompetitionError(f"{path}: is not YAML") from None
    if not isinstance(values, dict):
        raise CompetitionError(f"{path}: is not a mapping", hint="such as metric: accuracy")
    return values


def _digest(data: Path, describe: str) -> str:
    """Return a hash of names, sizes and times of files; contents are not read."""
    files = sorted(data.rglob("*")) if data.is_dir() else [data]
    total = hashlib.sha256(f"{_VERSION}\0{describe}\0".encode())
    beside = data.parent / "competition.yaml"
    for path in (*files, *([beside] if data.name == "public" and beside.is_file() else [])):
        facts = path.lstat()
        if path.is_file():
            total.update(
                f"{path.relative_to(data.parent)}\0{facts.st_size}\0{facts.st_mtime_ns}\0".encode()
            )
    return total.hexdigest()


def source_of(target: Path) -> str | None:
    """Return the path of the download that a folder was arranged from, or None."""
    record = _read_record(target)
    return record.source if record is not None else None


def upload_form_of(folder: Path) -> UploadForm:
    """Return the form of a submission outside, where the sample submission was changed here."""
    record = _read_record(folder)
    if record is None:
        return UploadForm()
    return UploadForm(
        columns=record.upload_columns,
        names=record.upload_names,
        constants=record.upload_constants,
        lists=record.upload_lists,
    )


def is_code_competition(folder: Path) -> bool:
    """Return whether a folder was arranged from a competition that runs notebooks on hidden rows."""
    record = _read_record(folder)
    return record is not None and record.code_competition


def _read_record(target: Path) -> _Record | None:
    try:
        return _Record.model_validate_json((target / "layout.json").read_bytes())
    except (OSError, ValueError):
        return None


def _shown(names: Sequence[str]) -> str:
    """Return the first six names and the number of the others."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
