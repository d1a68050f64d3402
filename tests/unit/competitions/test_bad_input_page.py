"""docs/bad-input.md lists every tested invalid input with its error message."""

import os
from collections.abc import Iterable
from pathlib import Path

from tests.unit.competitions.bad_folders import BAD_ANSWERS, BAD_FOLDERS, BadFolder
from tests.unit.competitions.download.bad_submission_files import BAD_FILES, BadFile
from tests.unit.competitions.download.downloads import REFUSED, Refused
from tests.unit.grading.bad_submissions import BAD_SUBMISSIONS, BadSubmission
from tests.unit.programs.bad_problems import BAD_PROBLEMS, BadProblem

_PAGE = Path(__file__).parents[3] / "docs" / "bad-input.md"

_HEAD = """\
# Bad input and its error messages

Every message names the error and its place; a second line has the fix, if it is not obvious.
The tests produce each of these and compare the message; this page is generated from the same data
(`UPDATE_SNAPSHOTS=1 .venv/bin/python -m pytest tests/unit/competitions/test_bad_input_page.py`).
"""


def _row(*cells: str) -> str:
    shown = (cell.replace("|", "\\\\|").replace("<", "&lt;") for cell in cells)
    return f"| {' | '.join(shown)} |"


def _table(title: str, said: str, rows: Iterable[str]) -> str:
    head = ["| name | what is wrong | the line it gives | exit code |", "|---|---|---|---|"]
    return "\n".join([f"## {title}", "", said, "", *head, *rows]) + "\n"


def _folder(case: BadFolder | BadProblem) -> str:
    line = case.line.format(folder="small")
    mend = f"<br>{case.hint}".replace("|", "\\|") if case.hint else ""
    return _row(case.name, case.wrong, f"`{line}`", "2").replace("` | 2 |", f"`{mend} | 2 |")


def _download(case: Refused) -> str:
    mend = f"<br>{case.hint}" if case.hint else ""
    return _row(case.name, case.wrong, f"`{case.line}`", "2").replace("` | 2 |", f"`{mend} | 2 |")


def _submission(case: BadSubmission) -> str:
    line = case.line.format(file="submission.csv")
    return _row(case.name, case.wrong, f"`{line}`", "2" if case.unreadable else "0")


def _file(case: BadFile) -> str:
    mend = f"<br>{case.hint}" if case.hint else ""
    line = case.line.format(file=case.file)
    return _row(case.name, case.wrong, f"`{line}`", "2").replace("` | 2 |", f"`{mend} | 2 |")


def _page() -> str:
    return "\n".join(
        [
            _HEAD,
            _table(
                "Competition folders",
                "`comind solve small` starts nothing.",
                map(_folder, BAD_FOLDERS),
            ),
            _table(
                "Problems with a scorer",
                "`comind solve small` starts nothing; see [programs as submissions](programs.md).",
                map(_folder, BAD_PROBLEMS),
            ),
            _table(
                "Plain downloads",
                "`comind solve download` starts nothing; see [plain downloads](plain-downloads.md).",
                map(_download, REFUSED),
            ),
            _table(
                "Answers and leaderboards of past competitions",
                "`comind grade small submission.csv` gives no grade.",
                map(_folder, BAD_ANSWERS),
            ),
            _table(
                "Submissions",
                "`comind grade small submission.csv` says that the file is invalid; only a file that is "
                "no table at all is an error.",
                map(_submission, BAD_SUBMISSIONS),
            ),
            _table(
                "Submissions in other files",
                "`comind grade small FILE` reads CSV, TSV, Parquet, Feather, JSON lines, also zipped.",
                map(_file, BAD_FILES),
            ),
        ]
    )


def test_the_page_is_up_to_date() -> None:
    """The page has a row for every tested case; UPDATE_SNAPSHOTS=1 rewrites it."""
    if os.environ.get("UPDATE_SNAPSHOTS"):
        _PAGE.write_text(_page())
    assert _page() == _PAGE.read_text()


def test_every_case_has_a_name_of_its_own() -> None:
    """Names of cases are unique, so that each row of the page belongs to one test."""
    names = [case.name for case in (*BAD_FOLDERS, *BAD_ANSWERS, *BAD_PROBLEMS)]
    names += [case.name for case in (*BAD_SUBMISSIONS, *BAD_FILES, *REFUSED)]
    assert len(set(names)) == len(names)
    assert len(names) > 100
