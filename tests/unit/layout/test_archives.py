"""Unpacking of downloads."""

import stat
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.errors import CompetitionError
from comind.layout.archives import extract_each, safe_name, unpack


def zipped(path: Path, **members: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return path


@pytest.mark.parametrize(
    "name", ["../x", "/etc/passwd", "a/../../x", "", ".", "a\\..\\x", "a\nb", "x" * 300, "a/..", "\0"]
)
def test_names_that_lead_elsewhere(name: str) -> None:
    """Names with path traversal are errors."""
    with pytest.raises(CompetitionError):
        safe_name(name)


@given(st.text(alphabet="ab./\\ ~\n", max_size=12))
def test_a_safe_name_stays_below(name: str) -> None:
    """Every accepted name is below its folder."""
    try:
        path = safe_name(name)
    except CompetitionError:
        return
    assert Path("/base/folder", path).resolve().is_relative_to("/base/folder")
    assert Path("/base/folder", path).resolve() != Path("/base/folder")


def test_a_plain_file_stays(tmp_path: Path) -> None:
    """A plain file keeps its name."""
    (tmp_path / "sent").write_text("a,b\n")
    assert unpack(tmp_path / "sent", "x/train.csv", tmp_path / "public") == ("x/train.csv",)
    assert (tmp_path / "public/x/train.csv").read_text() == "a,b\n"


@pytest.mark.parametrize("name", ["train.csv", "train.csv.zip", "train.zip"])
def test_a_zip_of_one_file_becomes_the_file(tmp_path: Path, name: str) -> None:
    """A file may be sent as a zip of itself, with or without the suffix."""
    sent = zipped(tmp_path / "sent", **{"train.csv": "a\n1\n"})
    assert unpack(sent, name, tmp_path / "public") == ("train.csv",)


def test_a_zip_of_many_becomes_a_folder(tmp_path: Path) -> None:
    """A zip becomes a folder of its name, or the one folder that it contains."""
    loose = zipped(tmp_path / "loose", **{"1.jpg": "1", "2.jpg": "2", "__MACOSX/1.jpg": "litter"})
    assert unpack(loose, "images.zip", tmp_path / "public") == ("images/1.jpg", "images/2.jpg")
    tidy = zipped(tmp_path / "tidy", **{"test/1.jpg": "1", "test/2.jpg": "2"})
    assert unpack(tidy, "test_images.zip", tmp_path / "public") == ("test/1.jpg", "test/2.jpg")


def test_names_that_the_split_needs(tmp_path: Path) -> None:
    """A data file validation.csv is renamed, as the name is reserved."""
    (tmp_path / "sent").write_text("a\n")
    assert unpack(tmp_path / "sent", "validation.csv", tmp_path / "public") == ("given_validation.csv",)


def test_a_zip_that_leads_out(tmp_path: Path) -> None:
    """Neither a name nor a symbolic link in a zip leads outside."""
    with pytest.raises(CompetitionError, match="leads out"):
        unpack(zipped(tmp_path / "sent", **{"../evil": "x"}), "a.zip", tmp_path / "public")
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "linked", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(CompetitionError, match="symbolic link"):
        unpack(tmp_path / "linked", "a.zip", tmp_path / "public")
    assert not (tmp_path / "evil").exists()


def test_a_broken_zip(tmp_path: Path) -> None:
    """A corrupt zip is an error."""
    sent = zipped(tmp_path / "sent", **{"train.csv": "abcdefgh" * 100})
    sent.write_bytes(sent.read_bytes().replace(b"abcdefgh", b"abcdefgX", 1))
    with pytest.raises(CompetitionError, match="cannot be unpacked"):
        unpack(sent, "train.csv.zip", tmp_path / "public")


def test_members_come_one_at_a_time(tmp_path: Path) -> None:
    """Files of a bundle are extracted one at a time."""
    bundle = zipped(tmp_path / "all", **{"a.csv": "1", "d/b.csv": "2"})
    found = []
    for name, path in extract_each(bundle, tmp_path / "member"):
        found.append((name, path.read_text()))
    assert found == [("a.csv", "1"), ("d/b.csv", "2")]
    assert not (tmp_path / "member").exists()
