"""Files of a download are taken as copies, so that the user's own keep their modes."""

import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

from comind.competitions.download.archives import PART_NAME
from comind.competitions.download.taken_files import take_files
from comind.system.files import clone_file


class _Usage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.fixture
def download(tmp_path: Path) -> Path:
    """A download with a table, a picture in a subfolder and a file that only its owner may read."""
    folder = tmp_path / "download"
    (folder / "train").mkdir(parents=True)
    (folder / "train.csv").write_text("id,y\n1,2\n")
    (folder / "train" / "1.png").write_bytes(b"picture")
    (folder / "own.bin").write_bytes(b"private")
    (folder / "own.bin").chmod(0o600)
    return folder


def test_what_becomes_of_taken_files_leaves_the_download_as_it_was(
    download: Path, tmp_path: Path
) -> None:
    """Versioning makes files read-only, and a program may write to them; the modes are the same."""
    before = {path: (path.stat(), path.read_bytes()) for path in download.rglob("*.*")}
    assert take_files(download, tmp_path / "ours") == []
    for path, (facts, _) in before.items():
        ours = tmp_path / "ours" / path.relative_to(download)
        assert ours.stat().st_mode == facts.st_mode
        ours.write_bytes(b"other")
        ours.chmod(0o444)
    for path, (facts, content) in before.items():
        assert (path.stat().st_mode, path.stat().st_nlink) == (facts.st_mode, 1)
        assert path.read_bytes() == content


@pytest.mark.parametrize(("free", "fits"), [(46, True), (45, False)])
def test_a_download_without_space_for_a_copy_is_linked_and_said_to_be(
    download: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, *, fits: bool
) -> None:
    """Copies may take half of the free space; where they can share the blocks they take none."""
    assert sum(path.stat().st_size for path in download.rglob("*.*")) == 23
    linked = not fits and not clone_file(download / "train.csv", tmp_path / "clone.csv")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _Usage(100, 100 - free, free))
    assert ["read-only" in each.text for each in take_files(download, tmp_path / "ours")] == [
        True
    ] * linked
    assert (tmp_path / "ours" / "train.csv").samefile(download / "train.csv") == linked


def test_a_copy_that_was_interrupted_is_made_again(download: Path, tmp_path: Path) -> None:
    """What was taken stays, and parts of files are removed."""
    ours = tmp_path / "ours"
    take_files(download, ours)
    kept = (ours / "train.csv").stat().st_ino
    (ours / "own.bin").rename(ours / PART_NAME)
    take_files(download, ours)
    assert (ours / "train.csv").stat().st_ino == kept
    assert sorted(path.name for path in ours.rglob("*.*")) == ["1.png", "own.bin", "train.csv"]


def test_hidden_files_of_a_download_are_named(download: Path, tmp_path: Path) -> None:
    """A repository in a download is left out with a line, litter of an operating system without."""
    (download / ".git").mkdir()
    (download / ".git" / "config").write_text("[core]\n\tfsmonitor = touch ran\n")
    (download / ".DS_Store").write_text("")
    [finding] = take_files(download, tmp_path / "ours")
    assert finding.text == ("1 file left out, as git, DVC or a shell could act on them: .git/config")
    assert not (tmp_path / "ours" / ".git").exists()


def test_git_runs_no_program_of_a_download(tmp_path: Path) -> None:
    """`git status` in the taken files runs no program of theirs, also as a bare repository."""
    ran = tmp_path / "ran"
    config = f'[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = "touch {ran};false"\n'
    for base in (".git/", ""):
        sent = tmp_path / "sent.zip"
        head = {"HEAD": "ref: refs/heads/main\n", "config": config, "objects/x": "", "refs/x": ""}
        with zipfile.ZipFile(sent, "w") as archive:
            archive.writestr("train.csv", "id,y\n1,2\n")
            for name, text in head.items():
                archive.writestr(base + name, text)
        ours = tmp_path / f"ours{base.strip('/')}"
        assert take_files(sent, ours)
        for folder in (ours, *(path for path in ours.rglob("*") if path.is_dir())):
            subprocess.run(["git", "status"], cwd=folder, check=False, capture_output=True)
    assert not ran.exists()
