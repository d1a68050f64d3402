"""Side files with any content are described or reported as unreadable; nothing raises."""

from pathlib import Path

import pytest

from tests.unit.profile.public import facts, line, write_parts


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("empty.csv", b"", "empty.csv: 0 bytes, cannot be read as a table (is empty)"),
        ("blank.csv", b"\n\n", "blank.csv: 2 bytes, cannot be read as a table (has no header line)"),
        ("header.csv", b"a,b\n", "header.csv: 0 rows, 2 columns, 4 bytes"),
        (
            "latin.csv",
            "a,b\n1,caf\xe9\n2,x\n".encode("latin-1"),
            "latin.csv: 2 rows, 2 columns, 15 bytes; not UTF-8, read as cp1252",
        ),
        (
            "wide.csv",
            "a,b\n1,2\n".encode("utf-16"),
            "wide.csv: 1 rows, 2 columns, 18 bytes; not UTF-8, read as utf-16",
        ),
        ("nul.csv", b"a,b\n1,2\n3,\0\n", "nul.csv: 2 rows, 2 columns, 12 bytes"),
        (
            "ragged.csv",
            b"a,b\n1,2\n3\n4,5,6\n",
            "ragged.csv: 2 rows, 2 columns, 16 bytes; 1 broken lines left out",
        ),
        ("semicolons.csv", b"\na;b\n1;2\n", "semicolons.csv: 1 rows, 2 columns, 9 bytes"),
        ("unclosed.csv", b'a,b\n1,"no end\n2,3\n', "unclosed.csv: 1 rows, 2 columns, 18 bytes"),
        ("twice.csv", b"a,A,a\n1,2,3\n", "twice.csv: 1 rows, 3 columns, 12 bytes"),
        ("odd[1]*?.csv", b"id\n007\n", "odd[1]*?.csv: 1 rows, 1 columns, 7 bytes"),
        ("fake.parquet", b"PAR1", "fake.parquet: 4 bytes, cannot be read as a table"),
        ("broken.jsonl", b'{"a": 1\n', "broken.jsonl: 8 bytes, cannot be read as a table"),
        (
            "nested.jsonl",
            b'{"a": [1, {"b": 2}]}\n{"a": null}\n',
            "nested.jsonl: 2 rows, 1 columns, 33 bytes",
        ),
        ("data.bin", bytes(range(256)), "data.bin: 256 bytes"),
        (
            "broken.png",
            b"\x89PNG",
            "broken.png: 4 bytes, 1 of 1 looked at are broken: broken.png cannot be read",
        ),
        (
            "broken.wav",
            b"RIFF",
            "broken.wav: 4 bytes, 1 of 1 looked at are broken: broken.wav cannot be read",
        ),
        (
            "broken.npy",
            b"\x93NUMPY",
            "broken.npy: 6 bytes, 1 of 1 looked at are broken: broken.npy cannot be read",
        ),
    ],
)
def test_odd_files_are_told(tmp_path: Path, name: str, content: bytes, told: str) -> None:
    """Broken encodings, NUL bytes, empty and damaged files are reported in one line each."""
    write_parts(tmp_path, train={"id": [1, 2], "y": [0, 1]})
    (tmp_path / name).write_bytes(content)
    text = facts(tmp_path)
    assert text.splitlines()[0].startswith("train.csv: 2 rows")
    assert any(found.startswith(told) for found in text.splitlines()), text


def test_a_huge_line_is_told(tmp_path: Path) -> None:
    """A line that is too long makes only its file unreadable, and is not in the text."""
    write_parts(tmp_path, train={"id": [1, 2], "y": [0, 1]})
    (tmp_path / "long.csv").write_bytes(b"a\n" + b"x" * (17 << 20) + b"\n")
    text = facts(tmp_path)
    assert "cannot be read as a table (line: 1: Maximum line size" in text
    assert len(text) < 2_000


def test_reasons_hold_no_path(tmp_path: Path) -> None:
    """Error messages do not contain the scratch folder, which differs between runs."""
    for name in ("one", "two"):
        public = write_parts(tmp_path / name, train={"id": [1, 2], "y": [0, 1]})
        (public / "fake.parquet").write_bytes(b"PAR1")
        (public / "broken.jsonl").write_bytes(b'{"a": 1\n')
        (public / "image.png").write_bytes(b"nothing")
        (public / "audio.wav").write_bytes(b"nothing")
    one, two = facts(tmp_path / "one"), facts(tmp_path / "two")
    assert one == two
    assert "/" not in one.replace("and/or", "")


def test_even_the_parts_may_be_broken(tmp_path: Path) -> None:
    """If train.csv is not a table, the other files are described."""
    write_parts(tmp_path, test={"id": [1, 2], "x": [0.5, 1.5]})
    public = tmp_path
    text_before = facts(public)
    assert "test.csv: 2 rows" in text_before
    (public / "train.csv").write_bytes(b"id,y\n1,2\n")
    (public / "validation.csv").write_bytes(b"id\n1\n")
    (public / "description.md").write_text("told elsewhere")
    assert "told elsewhere" not in facts(public)


def test_names_and_cells_stay_on_their_lines(tmp_path: Path) -> None:
    """Line breaks and unprintable characters in cells are replaced."""
    train = {"id": [1, 2, 3], "a\nb": ["x\ny\x1b[31m", "z", "z"], "y": [0, 1, 0]}
    text = facts(write_parts(tmp_path, train=train))
    assert '"x y [31m"' in line(text, "a b: text")
