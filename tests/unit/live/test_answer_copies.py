"""Copies of the answers among the public files of a competition."""

import gzip
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from comind.errors import CompetitionError
from comind.live.answer_copies import answer_copies
from comind.live.hosted import HostedCompetition
from comind.live.plain_files import PlainFiles
from tests.unit.live.worlds import NOON, open_world, world_folder


def _plain(content: bytes, public: Path) -> None:
    (public / "extra.csv").write_bytes(content)


def _zipped(content: bytes, public: Path) -> None:
    with zipfile.ZipFile(public / "extra.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("other.txt", "x")
        archive.writestr("deep/extra.csv", content)


def _compressed(content: bytes, public: Path) -> None:
    (public / "extra.csv.gz").write_bytes(gzip.compress(content))


def _damage_lzma(path: Path, content: bytes) -> None:
    """Write a zip file whose compressed member of this size cannot be read."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.csv", content)
        place = archive.getinfo("a.csv").header_offset + 30 + len("a.csv") + 9
    damaged = bytearray(path.read_bytes())
    damaged[place : place + 8] = b"\xff" * 8
    path.write_bytes(bytes(damaged))


@pytest.mark.parametrize("copy", [_plain, _zipped, _compressed])
def test_a_copy_of_the_answers_is_refused(copy: Callable[[bytes, Path], None], tmp_path: Path) -> None:
    """Under any name, and inside of archives; the line names the file."""
    folder = world_folder(tmp_path)
    world = open_world(folder, NOON)
    copy((folder / "private" / "answers.csv").read_bytes(), folder / "public")
    with pytest.raises(CompetitionError, match=r"public/extra\.(csv|zip).*has the content of"):
        HostedCompetition(world, tmp_path)


@pytest.mark.parametrize("copy", [_plain, _zipped, _compressed])
def test_other_files_of_the_same_size_are_no_copies(
    copy: Callable[[bytes, Path], None], tmp_path: Path
) -> None:
    """Nor are longer files, and those that cannot be read."""
    folder = world_folder(tmp_path)
    answers = folder / "private" / "answers.csv"
    copy(answers.read_bytes()[::-1], folder / "public")
    copy(answers.read_bytes() + b"more\n", folder / "public" / "..")
    (folder / "public" / "damaged.zip").write_bytes(b"PK")
    _damage_lzma(folder / "public" / "lzma.zip", answers.read_bytes())
    (folder / "public" / "damaged.gz").write_bytes(b"no")
    assert list(answer_copies(PlainFiles(folder / "public"), answers)) == []
    assert list(answer_copies(PlainFiles(folder), folder / "nothing.csv")) == []
