"""Untrusted files are read and copied without following links."""

import os
from pathlib import Path

import pytest

from comind.errors import SubmissionError
from comind.system.files import (
    copy_plain_tree,
    copy_untrusted_tree,
    hash_tree,
    read_untrusted,
    write_atomically,
)


def test_a_plain_file_is_read(tmp_path: Path) -> None:
    """A regular file in the folder or below it is read."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.csv").write_bytes(b"1,2")
    assert read_untrusted(tmp_path, "deep/a.csv", limit=10) == b"1,2"


@pytest.mark.parametrize(
    "name", ["../secret", "/etc/passwd", "", "a/../../secret", "nul\0", "link", "linked/secret"]
)
def test_no_name_leads_out(tmp_path: Path, name: str) -> None:
    """Neither a path nor a link reaches a file outside the folder."""
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret").write_text("labels")
    (inside / "link").symlink_to(tmp_path / "secret")
    (inside / "linked").symlink_to(tmp_path)
    with pytest.raises(SubmissionError):
        read_untrusted(inside, name, limit=100)


def test_special_files_are_refused_at_once(tmp_path: Path) -> None:
    """A pipe, a folder, a hard link and a sparse giant are refused without blocking."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "one").write_text("x")
    os.link(tmp_path / "one", tmp_path / "two")
    with (tmp_path / "giant").open("wb") as file:
        file.truncate(1 << 40)
    for name in ("pipe", "folder", "two", "giant"):
        with pytest.raises(SubmissionError):
            read_untrusted(tmp_path, name, limit=1000)


def test_a_tree_is_copied_without_links(tmp_path: Path) -> None:
    """A copy shares nothing with its source, and a link in the source is refused."""
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "sub" / "a").write_text("1")
    copy_plain_tree(source, tmp_path / "copy")
    assert hash_tree(source) == hash_tree(tmp_path / "copy")
    assert (tmp_path / "copy" / "sub" / "a").stat().st_nlink == 1
    (source / "out").symlink_to("/etc")
    with pytest.raises(ValueError, match="symbolic link"):
        copy_plain_tree(source, tmp_path / "other")


def test_a_durable_write_replaces_the_whole(tmp_path: Path) -> None:
    """An atomic write replaces the content and leaves no other file."""
    write_atomically(tmp_path / "new" / "a", "long content")
    write_atomically(tmp_path / "new" / "a", "short")
    assert (tmp_path / "new" / "a").read_text() == "short"
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a"]


def _refusal(source: Path, target: Path, **limits: int) -> str:
    with pytest.raises(ValueError, match=r".") as refused:
        copy_untrusted_tree(source, target, **{"limit_bytes": 1000, **limits})
    return str(refused.value)


def test_a_tree_of_a_stranger_is_copied_within_limits(tmp_path: Path) -> None:
    """Regular files are copied; links, pipes and excess of size, entries or depth are refused."""
    source = tmp_path / "source"
    (source / "a").mkdir(parents=True)
    (source / "a" / "model.bin").write_bytes(b"model")
    copy_untrusted_tree(source, tmp_path / "good", limit_bytes=1000)
    assert (tmp_path / "good" / "a" / "model.bin").read_bytes() == b"model"
    bad = source / "a" / "bad"
    bad.symlink_to("/etc/passwd")
    assert "not a plain file" in _refusal(source, tmp_path / "link")
    bad.unlink()
    bad.symlink_to("/etc")
    assert "not a plain file" in _refusal(source, tmp_path / "link-to-folder")
    bad.unlink()
    os.mkfifo(bad)
    assert "not a plain file" in _refusal(source, tmp_path / "pipe")
    bad.unlink()
    os.link(source / "a" / "model.bin", bad)
    assert "not a plain file" in _refusal(source, tmp_path / "names")
    bad.unlink()
    with bad.open("wb") as file:
        file.truncate(1 << 40)
    assert "MiB" in _refusal(source, tmp_path / "giant")
    bad.unlink()
    assert "more than 1 files" in _refusal(source, tmp_path / "crowd", limit_files=1)
    deep = source
    for _ in range(30):
        deep = deep / "d"
        deep.mkdir()
    assert "nested" in _refusal(source, tmp_path / "deep")
