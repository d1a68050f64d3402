"""Files of a split: links, side files, conflicting names, and existing splits."""

import os
import shutil
from pathlib import Path

import pytest

from comind.competitions.competition_folder import load_competition
from comind.competitions.download.plain_download import arrange_download
from comind.errors import CompetitionError
from comind.splits.split_files import make_split
from comind.splits.split_folder import SplitFolder
from comind.system.files import hash_tree
from tests.unit.competitions.folders import Break, competition_folder, describe, raw, text, write


def _split(root: Path, *, seed: int = 0) -> SplitFolder:
    return make_split(load_competition(root / "small"), root / "splits", seed=seed)


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("breaks", "line"),
    [
        (lambda f: (f / "public" / "more").symlink_to("/etc"), "public/more is a symbolic link"),
        (lambda f: (f / "public" / "x.csv").symlink_to("train.csv"), "x.csv is a symbolic link"),
        (raw("public/validation.csv", "id\n"), "public/validation.csv is reserved"),
        (raw("public/sample_validation_submission.csv", ""), "is reserved for a file of the split"),
        (text("test.csv", "id,x", "id,label"), "public/test.csv shows the label column 'label'"),
    ],
    ids=["linked folder", "linked file", "validation", "sample", "label in test"],
)
def test_what_would_unseal_a_split_is_refused(breaks: Break, line: str, tmp_path: Path) -> None:
    """A split of such a folder is refused, and no files remain."""
    folder = competition_folder(tmp_path)
    breaks(folder)
    with pytest.raises(CompetitionError, match=line):
        _split(tmp_path)
    assert _names(tmp_path / "splits") == []


def test_a_hard_link_is_copied(tmp_path: Path) -> None:
    """A hard-linked file is copied, so that no public file is shared with the raw data."""
    folder = competition_folder(tmp_path)
    (folder / "public" / "more.txt").hardlink_to(folder / "public" / "description.md")
    split = _split(tmp_path)
    assert (split.public / "more.txt").stat().st_nlink == 1


def test_a_finished_split_is_used_again(tmp_path: Path) -> None:
    """An existing split is not written again."""
    competition_folder(tmp_path)
    first = _split(tmp_path)
    before = first.metadata.stat().st_mtime_ns
    assert _split(tmp_path).root == first.root
    assert first.metadata.stat().st_mtime_ns == before
    assert _names(tmp_path / "splits") == [first.root.name]


def test_a_killed_split_is_made_again_and_leaves_no_labels(tmp_path: Path) -> None:
    """What a killed process has staged is removed, and the split has the bytes of any other."""
    competition_folder(tmp_path)
    pid = os.fork()
    if pid == 0:
        os.environ["COMIND_KILL_AT"] = "split-staged"
        _split(tmp_path)
        os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    assert list((tmp_path / "splits").glob(".new-*/sealed/validation_answers.csv"))
    again = _split(tmp_path)
    assert _names(tmp_path / "splits") == [again.root.name]
    whole = make_split(load_competition(tmp_path / "small"), tmp_path / "whole", seed=0)
    assert hash_tree(again.root) == hash_tree(whole.root)


def test_files_of_a_download_are_links_but_for_its_tables(tmp_path: Path) -> None:
    """A split takes no space for the files of an arranged download; tables are copies."""
    source = tmp_path / "download"
    competition_folder(tmp_path)
    shutil.copytree(tmp_path / "small" / "public", source)
    shutil.copyfile(tmp_path / "small" / "competition.yaml", source / "competition.yaml")
    (source / "extra.bin").write_bytes(b"large")
    layout = arrange_download(source, tmp_path / "downloads" / "download")
    split = make_split(load_competition(layout.folder), tmp_path / "splits", seed=0)
    arranged = layout.folder / "public"
    assert (split.public / "extra.bin").samefile(arranged / "extra.bin")
    assert not (split.public / "test.csv").samefile(arranged / "test.csv")
    assert not (split.full / "train.csv").samefile(arranged / "train.csv")


@pytest.mark.parametrize("missing", [("public",), ("sealed",), ("public", "sealed")])
def test_a_split_without_its_data_is_made_whole(missing: tuple[str, ...], tmp_path: Path) -> None:
    """In a clone that has only `split.json`, missing parts are made again with the same bytes."""
    competition_folder(tmp_path)
    first = _split(tmp_path)
    described = first.read()
    for part in missing:
        shutil.rmtree(first.root / part)
    (first.root / "public.dvc").write_text("outs: []\n")
    again = _split(tmp_path)
    assert hash_tree(again.public) == described.public_sha256
    assert hash_tree(again.sealed) == described.sealed_sha256
    assert (again.root / "public.dvc").is_file()
    assert _names(tmp_path / "splits") == [first.root.name]


def test_other_data_or_another_seed_is_another_split(tmp_path: Path) -> None:
    """The key of a split depends on all its inputs."""
    folder = competition_folder(tmp_path)
    names = {_split(tmp_path).root.name, _split(tmp_path, seed=1).root.name}
    for change in (
        describe(metric="macro-f1"),
        text("train.csv", "3,1.5,no", "3,1.5,yes"),
        raw("public/more.txt", "new"),
    ):
        change(folder)
        names.add(_split(tmp_path).root.name)
    assert len(names) == 5


def test_files_that_sealed_labels_name_are_sealed(tmp_path: Path) -> None:
    """Target images of held-out rows are sealed, unless a training row names them, too."""
    folder = competition_folder(tmp_path, split={"kind": "random"}, metric="exact-match")
    (folder / "public" / "clean").mkdir()
    for row in range(40):
        (folder / "public" / "clean" / f"{row}.png").write_text(f"pixels of {row}")
    named = [f"{row},dirty,clean/{row if row > 4 else 0}.png" for row in range(40)]
    write(folder, "train.csv", ["id,x,label", *named])
    split = _split(tmp_path)
    answers = [line.split(",")[1] for line in split.answers.read_text().splitlines()[1:]]
    kept = (split.public / "train.csv").read_text()
    assert any(name in kept for name in answers) or "clean/0.png" not in answers
    for name in answers:
        assert (split.public / name).exists() == (name in kept)
        assert (split.full / name).exists() != (name in kept)


@pytest.mark.parametrize(
    ("name", "ends", "before"),
    [
        ("more.csv", "\n", ""),
        ("deep/er/more.csv", "\n", ""),
        ("MORE.CSV", "\n", ""),
        ("more.csv", "\r\n", "\ufeff"),
        ("more.csv", "\r", ""),
        ("more.csv", "\n", "\n\n"),
    ],
    ids=["beside", "below", "capitals", "Windows", "old Mac", "blank lines first"],
)
def test_a_side_table_is_recognised(tmp_path: Path, name: str, ends: str, before: str) -> None:
    """Held-out rows are removed from another table with labels, whatever its format."""
    folder = competition_folder(tmp_path)
    rows = ["label,note,id", *[f"{'yes' if i % 4 == 0 else 'no'},note-{i:02d},{i}.0" for i in range(40)]]
    (folder / "public" / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / "public" / name).write_bytes((before + ends.join(rows)).encode())
    split = _split(tmp_path)
    left = (split.public / name).read_text()
    ids = [line.split(",")[0] for line in split.answers.read_text().splitlines()[1:]]
    assert ids
    assert not [number for number in ids if f"note-{int(number):02d}" in left]
    assert left.count("note-") == 40 - len(ids)
    assert (split.full / name).is_file()


def test_labels_that_name_our_own_files_do_no_harm(tmp_path: Path) -> None:
    """A label may name any file, or be too long for a name; the tables remain."""
    folder = competition_folder(tmp_path, split={"kind": "random"}, metric="exact-match")
    labels = ["test.csv", "../competition.yaml", "/etc/passwd", "x" * 5000, "sample_submission.csv"]
    write(folder, "train.csv", ["id,x,label", *[f"{i},1,{labels[i % 5]}" for i in range(40)]])
    split = _split(tmp_path)
    assert split.sample.is_file()
    assert (split.public / "test.csv").is_file()
    assert (folder / "competition.yaml").is_file()


def test_a_file_name_need_not_be_text(tmp_path: Path) -> None:
    """Files with names that are not UTF-8 are copied."""
    folder = competition_folder(tmp_path)
    strange = b"\xff\xfe.txt"
    Path(str(folder / "public") + "/" + strange.decode(errors="surrogateescape")).write_text("1")
    split = _split(tmp_path)
    assert len(list(split.public.glob("*.txt"))) == 1


def test_an_unfinished_split_is_no_split(tmp_path: Path) -> None:
    """Reading a folder without `split.json` is an error."""
    with pytest.raises(CompetitionError, match="is not a finished split"):
        SplitFolder(tmp_path).read()
