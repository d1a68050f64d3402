"""Numbers that decide how a download is read, and on a metric's name, each at its boundary."""

from pathlib import Path, PurePosixPath

import pytest

from comind.competitions.download.file_labels import find_file_rows
from comind.competitions.download.table_formats import convert_tables
from comind.metrics.metric_names import likely_metrics, match_metric


def _files(**counts: int) -> list[PurePosixPath]:
    return [
        PurePosixPath("train", label, f"{row}.jpg")
        for label, count in counts.items()
        for row in range(count)
    ]


@pytest.mark.parametrize(("texts", "found"), [(1, True), (2, False)])
def test_one_train_file_in_twenty_may_be_of_another_kind(texts: int, *, found: bool) -> None:
    """With fewer than 95 % of one kind, files are no rows."""
    others = [PurePosixPath("train", "cat", f"{row}.txt") for row in range(texts)]
    assert (find_file_rows([*_files(cat=10, dog=10 - texts), *others]) is not None) is found


@pytest.mark.parametrize(
    ("counts", "found"),
    [
        ({"a": 19, "b": 1}, True),
        ({"a": 18, "b": 1, "c": 1}, False),
        ({"a": 16, "b": 2, "c": 2}, True),
        ({"a": 20}, False),
    ],
)
def test_classes_are_a_tenth_of_the_files_or_have_two_each(
    counts: dict[str, int], *, found: bool
) -> None:
    """More classes than a tenth of the files, one with a single file, are names of something else."""
    assert (find_file_rows(_files(**counts)) is not None) is found


def test_one_class_is_none() -> None:
    """A word before the number in all names is no label."""
    assert find_file_rows([PurePosixPath("train", f"cat_{row}.jpg") for row in range(20)]) is None


@pytest.mark.parametrize(
    ("start", "length"), [("## Evaluation\n", 1_500), ("Submissions are evaluated", 300)]
)
@pytest.mark.parametrize(("late", "metric"), [(0, "rmse"), (1, None)])
def test_a_metric_is_named_near_the_heading_or_verb(
    start: str, length: int, late: int, metric: str | None
) -> None:
    """A page is read for 1,500 characters after its heading, or 300 from the verb."""
    name, verb = " root mean squared error", "evaluated"
    filled = "" if start.endswith("\n") else verb
    page = start + " on it" + "." * (length - len(name) - len(filled) - len(" on it") + late) + name
    assert match_metric("", page, ["y"]).metric == metric


@pytest.mark.parametrize(("words", "metric"), [("mae", None), ("MAE", "mae"), ("rmse", "rmse")])
def test_abbreviations_of_three_letters_are_in_capitals(words: str, metric: str | None) -> None:
    """Longer ones count in small letters, too."""
    assert match_metric("", f"Submissions are evaluated by {words}.", ["y"]).metric == metric


@pytest.mark.parametrize(
    ("labels", "first"),
    [
        ([str(n) for n in range(20)], "accuracy"),
        ([str(n) for n in range(21)], "rmse"),
        ([f"w{n}" for n in range(400)], "accuracy"),
        ([f"w{n}" for n in range(401)], "exact-match"),
    ],
)
def test_labels_are_classes_or_numbers_or_texts(labels: list[str], first: str) -> None:
    """Up to 20 whole numbers, or 400 words, are classes; three metrics are named."""
    found = likely_metrics("", labels, labels)
    assert found[0] == first
    assert len(found) == 3


def test_three_metrics_are_named() -> None:
    """Those that the reason names come first, and three are named in all."""
    assert len(likely_metrics("rmse or mae", ["a", "b"], ["a", "b"])) == 3


@pytest.mark.parametrize(
    ("byte", "cell"), [(0x80, "\u20ac"), *((each, chr(each)) for each in b"\x81\x8d\x8f\x90\x9d")]
)
def test_bytes_that_windows_does_not_define_are_latin(tmp_path: Path, byte: int, cell: str) -> None:
    """Text that is not UTF-8 is Windows-1252, or Latin-1 if it has one of five bytes."""
    (tmp_path / "train.csv").write_bytes(b"a,b\n1," + bytes([byte]) + b"\n")
    convert_tables(tmp_path)
    assert (tmp_path / "train.csv").read_text(encoding="utf-8") == f"a,b\n1,{cell}\n"


@pytest.mark.parametrize(("line", "converted"), [(1_000, False), (1_001, True)])
def test_a_thousand_lines_decide_on_the_delimiter(tmp_path: Path, line: int, *, converted: bool) -> None:
    """A line with another number of cells says that a text is no table, if it is one of the first."""
    rows = ["1\t2"] * 1_100
    rows[line - 1] = "1\t2\t3"
    (tmp_path / "train.tsv").write_text("\n".join(rows))
    assert bool(convert_tables(tmp_path).former) == converted
