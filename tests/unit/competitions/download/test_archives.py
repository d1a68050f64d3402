"""Unpacking of downloads."""

import gzip
import io
import shutil
import stat
import tarfile
import zipfile
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.competitions.download.archives import extract_each, safe_name, unpack
from comind.errors import CompetitionError, DiskError


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


@pytest.mark.parametrize(
    "name",
    [
        ".git/config",
        "a/.GIT/config",
        ".dvc/config",
        ".hg/hgrc",
        "x/.envrc",
        "HEAD",
        "a/dvc.yaml",
        "a/b.dvc",
    ],
)
def test_files_that_git_or_dvc_could_act_on_are_left_out(name: str, tmp_path: Path) -> None:
    """Hidden members of archives, also of archives in archives, are left out and named."""
    inner = zipped(tmp_path / "inner", **{"train.csv": "a\n1\n", "test.csv": "a\n2\n", name: "x"})
    outer = tmp_path / "outer"
    with zipfile.ZipFile(outer, "w") as archive:
        archive.write(inner, "data.zip")
        archive.writestr(name, "x")
    packed = tarred(tmp_path / "tar", "w:gz", **{"train.csv": "a\n", "test.csv": "a\n", name: "x"})
    for sent, kind, count in ((inner, "zip", 1), (outer, "zip", 2), (packed, "tar.gz", 1)):
        public, left_out = tmp_path / f"public-{sent.name}", list[str]()
        assert len(unpack(sent, f"data.{kind}", public, left_out=left_out)) == 2
        assert [each.rpartition(": ")[2] for each in left_out] == [name] * count
        assert not [path for path in public.rglob("*") if path.name == Path(name).name]
    assert unpack(inner, name, tmp_path / "listed") == ()


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


def zip_bytes(**members: bytes) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return held.getvalue()


def tarred(path: Path, mode: Literal["w", "w:gz"], *entries: tarfile.TarInfo, **members: str) -> Path:
    with tarfile.open(path, mode) as archive:
        for entry in entries:
            archive.addfile(entry)
        for name, text in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return path


def test_a_zip_in_a_zip(tmp_path: Path) -> None:
    """Zips in a zip are unpacked where they are, and do not remain."""
    inner = zip_bytes(**{"1.jpg": b"1", "2.jpg": b"2"})
    deep = zip_bytes(**{"train.csv.zip": zip_bytes(**{"train.csv": b"a\n"})})
    with zipfile.ZipFile(tmp_path / "sent", "w") as archive:
        archive.writestr("data/images.zip", inner)
        archive.writestr("data/tables.zip", deep)
        archive.writestr("data/book.xlsx", inner)
    made = unpack(tmp_path / "sent", "all.zip", tmp_path / "public")
    assert made == ("data/images/1.jpg", "data/images/2.jpg", "data/train.csv", "data/book.xlsx")
    files = {p.relative_to(tmp_path / "public").as_posix() for p in (tmp_path / "public").rglob("*.*")}
    assert files == set(made)


def test_zips_without_end(tmp_path: Path) -> None:
    """Archives deeper than four are refused."""
    content = b"x"
    for _ in range(6):
        content = zip_bytes(**{"a.zip": content})
    (tmp_path / "sent").write_bytes(content)
    with pytest.raises(CompetitionError, match=r"a\.zip: archives in archives, deeper than 4"):
        unpack(tmp_path / "sent", "a.zip", tmp_path / "public")


@pytest.mark.parametrize(
    ("name", "mode"), [("images.tar", "w"), ("images.tar.gz", "w:gz"), ("images.tgz", "w:gz")]
)
def test_a_tar(tmp_path: Path, name: str, mode: Literal["w", "w:gz"]) -> None:
    """A tar is unpacked as a zip is, archives in it too."""
    sent = tarred(
        tmp_path / "sent", mode, **{"1.jpg": "1", "./2.jpg": "2", "._1.jpg": "", ".DS_Store": ""}
    )
    assert unpack(sent, name, tmp_path / "public") == ("images/1.jpg", "images/2.jpg")
    sent = tarred(tmp_path / "one", mode, **{"train.csv": "a\n"})
    assert unpack(sent, f"x/{name}", tmp_path / "public") == ("x/train.csv",)


def test_a_compressed_table(tmp_path: Path) -> None:
    """A `.gz` of one file becomes this file, and an archive in it is unpacked."""
    (tmp_path / "sent").write_bytes(gzip.compress(b"a,b\n"))
    assert unpack(tmp_path / "sent", "train.csv.gz", tmp_path / "public") == ("train.csv",)
    assert (tmp_path / "public/train.csv").read_text() == "a,b\n"
    (tmp_path / "sent").write_bytes(gzip.compress(zip_bytes(**{"test.csv": b"a\n"})))
    assert unpack(tmp_path / "sent", "t.zip.gz", tmp_path / "public") == ("test.csv",)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (tarfile.SYMTYPE, "a link"),
        (tarfile.LNKTYPE, "a link"),
        (tarfile.CHRTYPE, "neither a file nor a folder"),
        (tarfile.FIFOTYPE, "neither a file nor a folder"),
        (tarfile.GNUTYPE_SPARSE, "cannot be unpacked|neither a file nor a folder"),
    ],
)
def test_a_tar_with_links_or_devices(tmp_path: Path, kind: bytes, message: str) -> None:
    """Only plain files and folders are taken from a tar."""
    entry = tarfile.TarInfo("evil")
    entry.type, entry.linkname = kind, "/etc/passwd"
    with pytest.raises(CompetitionError, match=message):
        unpack(tarred(tmp_path / "sent", "w", entry), "a.tar", tmp_path / "public")
    assert not (tmp_path / "public/a/evil").exists()


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/../../evil"])
def test_a_tar_that_leads_out(tmp_path: Path, name: str) -> None:
    """No name in a tar leads outside."""
    with pytest.raises(CompetitionError, match="leads out"):
        unpack(tarred(tmp_path / "sent", "w", **{name: "x"}), "a.tar", tmp_path / "public")


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.tgz", "a.csv.gz"])
def test_a_broken_archive(tmp_path: Path, name: str) -> None:
    """A truncated archive is refused in a line that names it; no part of a file stays."""
    if name == "a.csv.gz":
        whole = gzip.compress(bytes(range(256)) * 400)
    else:
        whole = tarred(
            tmp_path / "whole", "w" if name == "a.tar" else "w:gz", **{"1.csv": "0123456789" * 5000}
        ).read_bytes()
    for cut in (whole[: len(whole) // 2], b"no archive"):
        (tmp_path / "sent").write_bytes(cut)
        with pytest.raises(CompetitionError, match=rf"^{name}: "):
            unpack(tmp_path / "sent", name, tmp_path / "public")


@pytest.mark.parametrize("name", ["train.7z", "x/images.RAR"])
def test_other_archives(tmp_path: Path, name: str) -> None:
    """Archives of other formats are refused in a line."""
    (tmp_path / "sent").write_bytes(b"7z")
    with pytest.raises(CompetitionError) as raised:
        unpack(tmp_path / "sent", name, tmp_path / "public")
    assert str(raised.value) == f"{name}: cannot be unpacked here"
    assert raised.value.hint == "unpack it and name the folder"


def test_a_bomb_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What unpacks to more than the free space is stopped, and what was written is removed."""
    usage = shutil.disk_usage(tmp_path)

    def nearly_full(path: Path) -> object:
        written = sum(each.stat().st_size for each in tmp_path.rglob("*") if each.is_file())
        return usage._replace(free=(300 << 20) - written)

    (tmp_path / "gz").write_bytes(gzip.compress(bytes(100 << 20), 1))
    tarred(tmp_path / "tar", "w:gz", **{"zeros.csv": "0" * (100 << 20)})
    monkeypatch.setattr(shutil, "disk_usage", nearly_full)
    for name, sent in (("a.csv.gz", "gz"), ("a.tar.gz", "tar")):
        with pytest.raises(DiskError, match=rf"^{name}: \d+ MiB to write"):
            unpack(tmp_path / sent, name, tmp_path / "public")
        assert not list(tmp_path.rglob("*.csv"))
