"""Files that a cell wrote are listed without opening them."""

import os
from pathlib import Path

from comind.campaign.work.cell_outputs import list_files, written_since


def test_new_and_changed_files_are_told_the_newest_last(tmp_path: Path) -> None:
    """Unchanged files, inputs, hidden files and links are not listed."""
    for name in ("old.csv", "changed.csv", "input/train.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    before = list_files(tmp_path)
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "net.pt").write_bytes(b"12345")
    (tmp_path / "changed.csv").write_text("longer")
    (tmp_path / ".cache").write_text("x")
    (tmp_path / "link.csv").symlink_to("/etc/passwd")
    os.utime(tmp_path / "changed.csv", ns=(0, 2**62))
    written = written_since(before, list_files(tmp_path))
    assert [(file.name, file.size) for file in written] == [
        ("checkpoints/net.pt", 5),
        ("changed.csv", 6),
    ]


def test_many_files_and_strange_names_stay_small(tmp_path: Path) -> None:
    """Of thousands of files, or names with line breaks, a few printable names are listed."""
    for number in range(3_000):
        (tmp_path / f"{number}.txt").touch()
    (tmp_path / ("a\nb" + "c" * 200)).touch()
    assert len(written_since({}, list_files(tmp_path))) == 12
    for path in tmp_path.glob("*.txt"):
        path.unlink()
    [strange] = written_since({}, list_files(tmp_path))
    assert strange.name.startswith("a?bc")
    assert len(strange.name) == 120
