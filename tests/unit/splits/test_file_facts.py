"""What was computed of files is saved, so that a killed search goes on."""

import os
from pathlib import Path

from comind.splits.file_facts import compute_saved


def _content(path: Path, size: int, changed: int) -> bytes | None:
    del size, changed
    return path.read_bytes() or None


def _files(folder: Path, count: int = 12) -> list[Path]:
    folder.mkdir()
    for number in range(count):
        (folder / f"{number}.bin").write_bytes(b"x" * number)
    return sorted(folder.iterdir())


def test_a_killed_search_looks_at_each_file_once(tmp_path: Path) -> None:
    """After a kill only the files that were left are read, and the values are the same."""
    paths = _files(tmp_path / "files", 2_010)
    whole = list(compute_saved(_content, paths, None, 1))
    pid = os.fork()
    if pid == 0:
        os.environ["COMIND_KILL_AT"] = "files-looked-at:2"
        list(compute_saved(_content, paths, tmp_path, 1))
        os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    read = []

    def _content_again(path: Path, size: int, changed: int) -> bytes | None:
        read.append(path)
        return _content(path, size, changed)

    _content_again.__name__ = _content.__name__
    assert list(compute_saved(_content_again, paths, tmp_path, 1)) == whole
    assert read == paths[2_000:]


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    """Size or time of change differ from what was saved."""
    paths = _files(tmp_path / "files")
    before = list(compute_saved(_content, paths, tmp_path, 1))
    paths[3].write_bytes(b"changed")
    after = list(compute_saved(_content, paths, tmp_path, 1))
    assert after == [*before[:3], b"changed", *before[4:]]


def test_a_damaged_file_of_facts_is_no_error(tmp_path: Path) -> None:
    """All values are computed then."""
    paths = _files(tmp_path / "files")
    (tmp_path / ".file-facts.sqlite").write_bytes(b"no database" * 100)
    assert len(list(compute_saved(_content, paths, tmp_path, 1))) == len(paths)
