"""A generated split is accepted only after every check; each leak of labels is refused."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from comind.competitions.competition_folder import load_competition
from comind.competitions.data import CompetitionData
from comind.splits.generated_split import ScriptCheckError, check_split
from tests.unit.competitions.folders import competition_folder

Rows = list[list[str]]
Change = Callable[[Path], object]


@pytest.fixture
def data(tmp_path: Path) -> CompetitionData:
    """A competition without a metric, 40 labelled rows."""
    folder = competition_folder(tmp_path, metric=None, split=None)
    return CompetitionData.read_without_metric(load_competition(folder))


def _read(path: Path) -> Rows:
    with path.open(newline="") as file:
        return list(csv.reader(file))


def _write(path: Path, rows: Rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


def _produced(data: CompetitionData, root: Path) -> Path:
    """Write the output of a correct program: every fifth row is held out."""
    header, *rows = _read(data.competition.public / "train.csv")
    held = rows[::5]
    _write(root / "public/train.csv", [header, *(row for row in rows if row not in held)])
    _write(root / "public/validation.csv", [["id", "x"], *([i, x] for i, x, _ in held)])
    sample = [["id", "label"], *([i, "no"] for i, _, _ in held)]
    _write(root / "public/sample_validation_submission.csv", sample)
    answers = [["id", "label"], *([i, label] for i, _, label in held)]
    _write(root / "private/validation_answers.csv", answers)
    return root


def _edit(name: str, change: Callable[[Rows], Rows]) -> Change:
    return lambda root: _write(root / name, change(_read(root / name)))


def _add_column(rows: Rows) -> Rows:
    return [[*rows[0], "label"], *([*row, "yes"] for row in rows[1:])]


def _label_as_input(rows: Rows) -> Rows:
    return [rows[0], *([i, "1" if int(i) % 4 == 0 else "0"] for i, _ in rows[1:])]


def _flip(rows: Rows) -> Rows:
    return [rows[0], *([i, "no" if label == "yes" else "yes"] for i, label in rows[1:])]


def _true_sample(root: Path) -> None:
    answers = _read(root / "private/validation_answers.csv")
    _write(root / "public/sample_validation_submission.csv", answers)


def _only_one_class(root: Path) -> None:
    public = root / "public"
    kept, held = _read(public / "train.csv"), _read(root / "private/validation_answers.csv")
    x = {row[0]: row[1] for row in _read(public / "validation.csv")}
    everything = [*kept[1:], *([i, x[i], label] for i, label in held[1:])]
    out = [row for row in everything if row[2] == "yes"][:8]
    _write(public / "train.csv", [kept[0], *(row for row in everything if row not in out)])
    _write(public / "validation.csv", [["id", "x"], *(row[:2] for row in out)])
    _write(public / "sample_validation_submission.csv", [["id", "label"], *([r[0], "no"] for r in out)])
    _write(root / "private/validation_answers.csv", [["id", "label"], *([r[0], r[2]] for r in out)])


def _link(root: Path) -> None:
    (root / "public/labels.csv").symlink_to(root / "private/validation_answers.csv")


BAD: dict[str, tuple[Change, str]] = {
    "no validation inputs": (lambda root: (root / "public/validation.csv").unlink(), "files"),
    "answers are a link": (
        lambda root: (
            (root / "private/validation_answers.csv").rename(root / "a")
            or (root / "private/validation_answers.csv").symlink_to(root / "a")
        ),
        "files",
    ),
    "a label column among the inputs": (
        _edit("public/validation.csv", _add_column),
        "withheld columns",
    ),
    "a column is gone": (
        _edit("public/train.csv", lambda rows: [row[:1] + row[2:] for row in rows]),
        "columns",
    ),
    "an id twice": (_edit("public/validation.csv", lambda rows: [*rows, rows[1]]), "ids"),
    "a held-back row stays in train.csv": (
        _edit("public/train.csv", lambda rows: [*rows, ["0", "0.0", "yes"]]),
        "disjoint ids",
    ),
    "a row is lost": (_edit("public/train.csv", lambda rows: rows[:-1]), "all rows"),
    "a row is made up": (
        _edit("public/train.csv", lambda rows: [*rows, ["999", "0.0", "yes"]]),
        "all rows",
    ),
    "answers for other rows": (
        _edit("private/validation_answers.csv", lambda rows: rows[:-1]),
        "ids",
    ),
    "labels in the place of an input": (
        _edit("public/validation.csv", _label_as_input),
        "unchanged inputs",
    ),
    "labels in the sample submission": (_true_sample, "withheld values"),
    "answers that are not the labels": (
        _edit("private/validation_answers.csv", _flip),
        "answers",
    ),
    "labels in another public file": (
        lambda root: _write(root / "public/notes.csv", [["id", "label"], ["0", "yes"]]),
        "public files",
    ),
    "a link to the labels": (_link, "public files"),
    "one class alone": (_only_one_class, "class balance"),
}


def test_a_good_split_is_taken_over(data: CompetitionData, tmp_path: Path) -> None:
    """Held-out positions and answers are returned in the order of train.csv."""
    root = _produced(data, tmp_path / "out")
    held_out = check_split(data, root / "public", root / "private")
    assert held_out.rows == list(range(0, 40, 5))
    assert held_out.truth["id"].tolist() == [str(row) for row in range(0, 40, 5)]


def test_numbers_may_be_written_otherwise(data: CompetitionData, tmp_path: Path) -> None:
    """Writing 22.0 for 22 is not a change."""
    root = _produced(data, tmp_path / "out")
    _edit("public/validation.csv", lambda r: [r[0], *([i, f"{float(x):.3f}"] for i, x in r[1:])])(root)
    assert check_split(data, root / "public", root / "private").rows


@pytest.mark.parametrize("name", BAD)
def test_a_leaking_split_is_refused_by_name(data: CompetitionData, tmp_path: Path, name: str) -> None:
    """Each kind of wrong or leaking split fails its check."""
    change, check = BAD[name]
    root = _produced(data, tmp_path / "out")
    change(root)
    with pytest.raises(ScriptCheckError, match=f"check `{check}`"):
        check_split(data, root / "public", root / "private")


def test_groups_that_are_torn_are_refused(tmp_path: Path) -> None:
    """If groups are disjoint in train and test, a split by rows is refused."""
    folder = competition_folder(tmp_path, metric=None, split={"kind": "group", "column": "x"})
    public = folder / "public"
    header, *rows = _read(public / "train.csv")
    _write(public / "train.csv", [header, *([i, str(int(i) // 4), y] for i, _, y in rows)])
    data = CompetitionData.read_without_metric(load_competition(folder))
    root = _produced(data, tmp_path / "out")
    with pytest.raises(ScriptCheckError, match="check `whole groups`"):
        check_split(data, root / "public", root / "private")
