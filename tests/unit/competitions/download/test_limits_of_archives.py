"""Limits of what is unpacked, and which samples make tables of files, each at its boundary."""

import gzip
import io
import shutil
import zipfile
from pathlib import Path

import pytest

from comind.competitions.download.archives import (
    _HeadersInBounds,
    check_free_space,
    describe_left_out,
    safe_name,
    unpack,
)
from comind.competitions.download.file_tables import add_file_tables
from comind.errors import CompetitionError, DiskError


@pytest.mark.parametrize(("length", "safe"), [(200, True), (201, False)])
def test_a_part_of_a_name_has_200_characters(length: int, *, safe: bool) -> None:
    """A name of more characters is refused."""
    try:
        assert safe_name("a/" + "x" * length).name == "x" * length
        assert safe
    except CompetitionError:
        assert not safe


@pytest.mark.parametrize(("depth", "unpacked"), [(4, True), (5, False)])
def test_archives_are_four_deep(tmp_path: Path, depth: int, *, unpacked: bool) -> None:
    """The fifth archive in archives is refused."""
    content = b"a\n"
    for at in range(depth):
        with zipfile.ZipFile(tmp_path / "sent", "w") as archive:
            archive.writestr(f"a{at}.zip" if at else "train.csv", content)
        content = (tmp_path / "sent").read_bytes()
    try:
        assert unpack(tmp_path / "sent", "a.zip", tmp_path / "public") == ("train.csv",)
        assert unpacked
    except CompetitionError:
        assert not unpacked


@pytest.mark.parametrize(("free", "enough"), [(257 << 20, True), ((257 << 20) - 1, False)])
def test_256_mebibytes_stay_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, *, enough: bool
) -> None:
    """What is written leaves 256 MiB of the disk free."""
    usage = shutil.disk_usage(tmp_path)._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    try:
        check_free_space(tmp_path, 1 << 20, "a.zip")
        assert enough
    except DiskError:
        assert not enough


@pytest.mark.parametrize(("extra", "looks"), [(0, 1), (1, 2)])
def test_free_space_is_looked_at_every_16_mebibytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extra: int, looks: int
) -> None:
    """A stream says nothing of its size, so the disk is looked at again while it is written."""
    seen, usage = list[Path](), shutil.disk_usage(tmp_path)

    def looked(path: Path) -> object:
        seen.append(path)
        return usage._replace(free=1 << 40)

    (tmp_path / "sent").write_bytes(gzip.compress(bytes((16 << 20) + extra), 1))
    monkeypatch.setattr(shutil, "disk_usage", looked)
    unpack(tmp_path / "sent", "a.csv.gz", tmp_path / "public")
    assert len(seen) == looks


def test_a_header_of_a_tar_has_64_mebibytes() -> None:
    """No more bytes are read at once."""
    stream = _HeadersInBounds(fileobj=io.BytesIO(gzip.compress(b"abc")))
    assert stream.read(64 << 20) == b"abc"
    for size in ((64 << 20) + 1, -1, None):
        with pytest.raises(ValueError, match="too large"):
            stream.read(size)


def test_three_files_that_are_left_out_are_named() -> None:
    """Of more, the others are dots."""
    assert describe_left_out([*"abc"]).endswith(": a, b, c")
    assert describe_left_out([*"abcd"]).endswith(": a, b, c, ...")


@pytest.mark.parametrize(
    ("samples", "header"),
    [
        ({}, "id,file,label"),
        ({"sample_submission.csv": "image,kind"}, "image,file,kind"),
        ({"sample_submission.csv": "image,kind,other"}, "image,file,label"),
        ({"sample_submission.csv": "image,kind", "sample_submission_2.csv": "image,kind"}, ""),
    ],
)
def test_tables_of_files_have_the_names_of_one_sample(
    tmp_path: Path, samples: dict[str, str], header: str
) -> None:
    """A sample of an id and a target names the label; of two samples none is taken."""
    for label in ("cat", "dog"):
        (tmp_path / "train" / label).mkdir(parents=True)
        for at in range(20):
            (tmp_path / "train" / label / f"{at}.png").write_bytes(b"x")
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "a.png").write_bytes(b"x")
    for name, columns in samples.items():
        (tmp_path / name).write_text(f"{columns}\na{',cat' * columns.count(',')}\n")
    assert bool(add_file_tables(tmp_path)) == bool(header)
    if header:
        assert (tmp_path / "train.csv").read_text().splitlines()[0] == header
