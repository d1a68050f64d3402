"""What is told of a split's files, whatever lies beside the tables."""

from pathlib import Path

from comind.evaluation.folder import load_competition
from comind.evaluation.preview import describe_problem
from comind.evaluation.splits.seal import make_split
from tests.unit.evaluation.folders import competition_folder, raw


def test_side_files_may_be_anything(tmp_path: Path) -> None:
    """A side file that is no table, though it is called one, is told by its size."""
    folder = competition_folder(tmp_path)
    raw("public/empty.csv", b"")(folder)
    raw("public/binary.csv", b"\xff\xfe\0")(folder)
    raw("public/notes.txt", b"five.")(folder)
    raw("public/images/a.dat", b"")(folder)
    split = make_split(load_competition(folder), tmp_path / "splits", seed=0)
    problem = describe_problem(split)
    for line in ("empty.csv: 0 bytes", "binary.csv: 3 bytes", "notes.txt: 5 bytes", "images/: 1 x .dat"):
        assert line in problem.preview.splitlines()
    assert "train.csv: about 30 rows, 3 columns" in problem.preview
    assert (problem.train_rows, problem.validation_rows, problem.test_rows) == (30, 10, 10)
