"""Submissions that are refused: what stands in the file, and the line that says what is wrong.

Data for the tests and for docs/bad-input.md.
"""

from dataclasses import dataclass
from pathlib import Path

from tests.unit.competitions.folders import describe, raw

__all__ = ["BAD_SUBMISSIONS", "BadSubmission", "ask"]

_ANSWERS: dict[str, tuple[str, str]] = {
    "accuracy": ("id,label", "yes no no yes"),
    "top-1-error": ("id,label", "yes no no yes"),
    "quadratic-weighted-kappa": ("id,label", "0 1 2 3"),
    "rmse": ("id,label", "1.5 2 3 4"),
    "rmsle": ("id,label", "1.5 2 3 4"),
    "rmse-of-log": ("id,label", "1.5 2 3 4"),
    "pearson": ("id,label", "1.5 2 3 4"),
    "roc-auc": ("id,label", "1 0 0 1"),
    "log-loss": ("id,label", "1 0 0 1"),
    "multiclass-log-loss": ("id,a,b", "1,0 0,1 0,1 1,0"),
    "pixel-f05": ("id,label", "1;3 2;2 5;1;9;1 4;4"),
}


def ask(folder: Path, metric: str) -> None:
    """Turn the small competition into a past one of four test rows under `metric`."""
    header, cells = _ANSWERS[metric]
    answers = [f"{row},{cell.replace(';', ' ')}" for row, cell in enumerate(cells.split(), start=1)]
    table = "\n".join([header, *answers]) + "\n"
    describe(metric=metric, target_columns="sample_submission")(folder)
    raw("private/answers.csv", table)(folder)
    raw("public/sample_submission.csv", table)(folder)
    raw("public/test.csv", "id,x\n1,1\n2,1\n3,1\n4,1\n")(folder)


@dataclass(frozen=True)
class BadSubmission:
    """A file that is handed in; `unreadable` ones end with exit code 2, the others are graded invalid.

    In the line, `{file}` is where it lies.
    """

    name: str
    wrong: str
    content: bytes | str
    line: str
    metric: str = "accuracy"
    unreadable: bool = False


def _unreadable(name: str, wrong: str, content: bytes | str, line: str) -> BadSubmission:
    return BadSubmission(name, wrong, content, line, unreadable=True)


def _cells(name: str, wrong: str, metric: str, cells: str, line: str) -> BadSubmission:
    """Return a submission with these cells for rows 1 to 4."""
    header, _ = _ANSWERS[metric]
    rows = [f"{row},{cell}" for row, cell in enumerate(cells.split("|"), start=1)]
    return BadSubmission(name, wrong, "\n".join([header, *rows]) + "\n", line, metric)


_EXPECTED = "expected id, label"

BAD_SUBMISSIONS: tuple[BadSubmission, ...] = (
    # --- no table at all ---
    _unreadable("empty submission", "no bytes", b"", "{file}: is empty"),
    _unreadable("blank submission", "white space only", " \n\n", "{file}: is empty"),
    _unreadable(
        "binary submission", "a pickle", b"\x80\x04\x00\x01", "{file}: is not text but binary data"
    ),
    _unreadable(
        "submission with NUL", "a NUL", b"id,label\n1,\0", "{file}: is not text but binary data"
    ),
    _unreadable(
        "Latin-1 submission",
        "another encoding",
        b"id,label\n1,\xe9",
        "{file}: is not UTF-8 text (byte 11)",
    ),
    _unreadable(
        "ragged submission",
        "a row with a cell too many",
        "id,label\n1,yes\n2,no,no\n",
        "{file}: line 3 has 3 cells, but the header 2",
    ),
    _unreadable(
        "submission cut off",
        "the last row has no label cell",
        "id,label\n1,yes\n2",
        "{file}: line 3 has 1 cells, but the header 2",
    ),
    _unreadable(
        "duplicate column",
        "the target is there twice",
        "id,label,label\n1,yes,no\n",
        "{file}: the column 'label' appears twice",
    ),
    _unreadable(
        "index written",
        "the first column has no name",
        ",id,label\n0,1,yes\n",
        "{file}: a column in the header has no name",
    ),
    # --- columns and rows ---
    BadSubmission(
        "missing column",
        "the target has another name",
        "id,labels\n1,yes\n",
        f"the column 'label' is missing; {_EXPECTED}",
    ),
    BadSubmission(
        "missing id column",
        "the ids are not there",
        "label\nyes\n",
        f"the column 'id' is missing; {_EXPECTED}",
    ),
    BadSubmission(
        "extra column",
        "an unexpected column",
        "id,label,x\n1,yes,0\n",
        f"the column 'x' is unexpected; {_EXPECTED}",
    ),
    BadSubmission(
        "hostile column",
        "a column name of two lines that turns the text around",
        'id,label,"=cmd()\n\u202e"\n1,yes,0\n',
        f"the column '=cmd()\\n\\u202e' is unexpected; {_EXPECTED}",
    ),
    BadSubmission(
        "no rows", "a header only", "id,label\n", "4 of 4 ids (id) are missing, for instance '1'"
    ),
    BadSubmission(
        "missing rows",
        "the last row is missing",
        "id,label\n1,yes\n2,no\n3,no\n",
        "1 of 4 ids (id) are missing, for instance '4'",
    ),
    BadSubmission(
        "extra rows",
        "an unexpected row",
        "id,label\n1,yes\n2,no\n3,no\n4,no\n5,no\n",
        "1 ids (id) are unexpected, for instance '5'",
    ),
    BadSubmission(
        "duplicate rows",
        "a row is there twice",
        "id,label\n1,yes\n1,no\n3,no\n4,no\n",
        "the id '1' (id) appears twice",
    ),
    BadSubmission(
        "id in two spellings",
        "1 and 1.0 are the same id",
        "id,label\n1,yes\n1.0,no\n3,no\n4,no\n",
        "the id '1' (id) appears twice",
    ),
    BadSubmission(
        "zeros before ids",
        "01 is another id than 1",
        "id,label\n01,yes\n02,no\n03,no\n04,no\n",
        "4 of 4 ids (id) are missing, for instance '1'",
    ),
    BadSubmission(
        "empty ids",
        "an id is empty",
        "id,label\n1,yes\n2,no\n3,no\n,no\n",
        "1 of 4 ids (id) are missing, for instance '4'",
    ),
    # --- cells ---
    _cells(
        "empty label",
        "a cell is empty",
        "accuracy",
        "yes||no|yes",
        "column 'label': no label in 1 of 4 rows",
    ),
    _cells(
        "no guess",
        "a list of guesses is empty",
        "top-1-error",
        "yes no| |no|yes",
        "column 'label': no label in 1 of 4 rows",
    ),
    _cells(
        "half a class",
        "a whole number is asked for",
        "quadratic-weighted-kappa",
        "0|1.5|2|3",
        "column 'label': no whole number in 1 of 4 rows, for instance '1.5'",
    ),
    _cells(
        "huge class",
        "a whole number beyond all classes",
        "quadratic-weighted-kappa",
        "0|1e300|2|3",
        "column 'label': too large a number in 1 of 4 rows, for instance '1e300'",
    ),
    _cells(
        "empty number", "a cell is empty", "rmse", "1||3|4", "column 'label': no number in 1 of 4 rows"
    ),
    _cells(
        "NaN",
        "not a number",
        "rmse",
        "1|nan|NaN|4",
        "column 'label': no number in 2 of 4 rows, for instance 'nan'",
    ),
    _cells(
        "infinity",
        "an infinite number",
        "rmse",
        "1|-inf|3|4",
        "column 'label': no finite number in 1 of 4 rows, for instance '-inf'",
    ),
    _cells(
        "word for a number",
        "a formula",
        "rmse",
        "1|=A1|3|4",
        "column 'label': no number in 1 of 4 rows, for instance '=A1'",
    ),
    _cells(
        "overflow",
        "an error too large to be squared",
        "rmse",
        "1|1e200|3|4",
        "its rmse is not a finite number",
    ),
    _cells(
        "below -1 under rmsle",
        "no logarithm",
        "rmsle",
        "1|-1|3|4",
        "column 'label': no number above -1 in 1 of 4 rows, for instance '-1'",
    ),
    _cells(
        "zero under a logarithm",
        "no logarithm",
        "rmse-of-log",
        "1|0|3|4",
        "column 'label': no number above 0 in 1 of 4 rows, for instance '0'",
    ),
    _cells(
        "constant prediction",
        "one number for all rows has no correlation",
        "pearson",
        "2|2|2|2",
        "column 'label': a constant prediction has no correlation",
    ),
    _cells(
        "words for a ranking",
        "classes where scores are asked for",
        "roc-auc",
        "yes|no|no|yes",
        "column 'label': no number in 4 of 4 rows, for instance 'yes'",
    ),
    _cells(
        "percentages",
        "a probability above 1",
        "log-loss",
        "90|10|10|90",
        "column 'label': a number above 1 in 4 of 4 rows, for instance '90'",
    ),
    _cells(
        "negative probability",
        "a probability below 0",
        "log-loss",
        "0.9|-0.1|0.1|0.9",
        "column 'label': a number below 0 in 1 of 4 rows, for instance '-0.1'",
    ),
    _cells(
        "negative probability of a class",
        "a probability below 0",
        "multiclass-log-loss",
        "1,0|1.5,-0.5|0,1|1,0",
        "column 'b': a number below 0 in 1 of 4 rows, for instance '-0.5'",
    ),
    _cells(
        "no probability at all",
        "a row of zeros cannot be scaled to sum to one",
        "multiclass-log-loss",
        "1,0|0,0|0,1|1,0",
        "no probability at all in 1 of 4 rows",
    ),
    _cells(
        "mask without a length",
        "an odd number of numbers",
        "pixel-f05",
        "1 3|2|5 1|4 4",
        "column 'label': no run-length encoding (pairs of start and length) in 1 of 4 rows, for instance"
        " '2'",
    ),
    _cells(
        "mask that overlaps",
        "a pixel is there twice",
        "pixel-f05",
        "1 3|2 5 3 1|5 1|4 4",
        "column 'label': no run-length encoding (pairs of start and length) in 1 of 4 rows, for instance"
        " '2 5 3 1'",
    ),
    _cells(
        "mask from pixel 0",
        "pixels are counted from 1",
        "pixel-f05",
        "0 3|2 5|5 1|4 4",
        "column 'label': no run-length encoding (pairs of start and length) in 1 of 4 rows, for instance"
        " '0 3'",
    ),
    _cells(
        "mask beyond all images",
        "a number of twenty digits",
        "pixel-f05",
        "1 99999999999999999999|2 5|5 1|4 4",
        "column 'label': no run-length encoding (pairs of start and length) in 1 of 4 rows, for instance"
        " '1 99999999999999999999'",
    ),
)
"""What `comind grade` finds wrong with a file."""
