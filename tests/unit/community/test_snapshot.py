"""A snapshot is a content-addressed folder of what was visible at a moment."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from comind.community.ranking import Selection
from comind.community.snapshot import SnapshotFolder, take_snapshot
from comind.errors import CommunityError
from comind.system.files import hash_tree
from tests.unit.community.folders import comment, community, dataset, discussion, notebook

_AS_OF = datetime(2023, 3, 10, tzinfo=UTC)


def _take(folder: Path, snapshots: Path, *, as_of: datetime | None = _AS_OF) -> SnapshotFolder:
    return take_snapshot(
        folder,
        snapshots,
        competition="demo",
        as_of=as_of,
        maximize=True,
        selection=Selection(notebooks=10, discussions=10),
    )


def test_a_snapshot_can_be_read_and_mounted(tmp_path: Path) -> None:
    """The view lists the items; notebooks' programs and datasets' files can be mounted."""
    folder = community(
        tmp_path / "community",
        notebooks=[notebook("ada/one", source="x = 1\n"), notebook("bob/later", 20)],
        discussions=[discussion()],
        datasets=[dataset("ada/data", path="files"), dataset("ada/table", path="files/a.csv")],
    )
    (folder / "files" / "deep").mkdir(parents=True)
    (folder / "files" / "a.csv").write_text("a\n1\n")
    (folder / "files" / "deep" / "b.txt").write_text("b")
    taken = _take(folder, tmp_path / "snapshots")
    view = taken.read()
    assert view.as_of == _AS_OF
    assert [each.ref for each in view.notebooks] == ["ada/one"]
    assert [(each.ref, each.files) for each in view.datasets] == [
        ("ada/data", True),
        ("ada/table", True),
    ]
    assert view.left_out == ()
    files = {
        ref: sorted(str(p.relative_to(root)) for p in root.rglob("*") if p.is_file())
        for ref in ("ada/one", "ada/data", "ada/table")
        if (root := taken.mount_path(ref))
    }
    assert files == {
        "ada/one": ["notebook.py"],
        "ada/data": ["a.csv", "deep/b.txt"],
        "ada/table": ["a.csv"],
    }
    for ref in ("bob/later", "../..", "ada", "/etc/passwd", "ada/..", "items/ada"):
        assert taken.mount_path(ref) is None


def test_the_future_changes_no_byte(tmp_path: Path) -> None:
    """Items added for later times, even invalid ones, do not change the snapshot's hash."""
    before = community(
        tmp_path / "before",
        notebooks=[
            notebook(),
            "broken",
            notebook("no reference", 3),
            notebook("b/c", 2, votes=3, vote_times=["2023-03-03T00:00:00Z"]),
        ],
        discussions=[discussion(comments=[{"id": 1}, comment("a")])],
        datasets=[dataset()],
    )
    late = "2023-03-20T00:00:00Z"
    after = community(
        tmp_path / "after",
        notebooks=[
            notebook("x/y", 20),
            notebook(),
            "broken",
            notebook("no reference", 3),
            notebook("b/c", 2, votes=9, vote_times=[late, "2023-03-03T00:00:00Z"], author_tier="master"),
            notebook("b/c", 2, version=2, updated_at=late, source="new"),
            notebook("not a reference", 20, more=1),
            notebook("z/z", 20, more=1),
        ],
        discussions=[
            discussion(2, 20),
            discussion(
                comments=[comment("late", 20), comment("bad", 20, body=7), {"id": 1}, comment("a")]
            ),
        ],
        datasets=[dataset(), dataset("b/d", 20, path="../.."), dataset(version=2, published_at=late)],
    )
    taken = _take(before, tmp_path / "snapshots")
    assert _take(after, tmp_path / "snapshots").key == taken.key
    assert _take(after, tmp_path / "snapshots", as_of=None).key != taken.key
    assert len(list((tmp_path / "snapshots").iterdir())) == 2


def _linked_folder(folder: Path) -> None:
    (folder / "files").symlink_to("/etc")


def _link_inside(folder: Path) -> None:
    (folder / "files").mkdir()
    (folder / "files" / "link").symlink_to("/etc/passwd")


def _pipe(folder: Path) -> None:
    (folder / "files").mkdir()
    os.mkfifo(folder / "files" / "pipe")


def _strange_name(folder: Path) -> None:
    (folder / "files").mkdir()
    (folder / "files" / "a\nb").touch()
    (folder / "files" / os.fsdecode(b"\xff")).touch()


@pytest.mark.parametrize(
    ("path", "breaks", "reason"),
    [
        ("../secret", None, "the path leads out of the community folder"),
        ("/etc/passwd", None, "the path leads out of the community folder"),
        (".", None, "the path leads out of the community folder"),
        ("a\0b", None, "the path leads out of the community folder"),
        ("files", None, "there is no such file or folder"),
        ("files", _linked_folder, "the path leads over a link"),
        ("files/passwd", _linked_folder, "the path leads over a link"),
        ("files", _link_inside, "there is a link among them"),
        ("files", _pipe, "there is something among them that is neither file nor folder"),
        ("files", _strange_name, "a file's name has characters that cannot be shown"),
        ("f" * 300, None, "file name too long"),
    ],
)
def test_files_that_cannot_be_trusted_stay_out(
    tmp_path: Path, path: str, breaks: Callable[[Path], None] | None, reason: str
) -> None:
    """A dataset whose files are outside the folder, or not regular, is listed without files."""
    (tmp_path / "secret").write_text("password")
    folder = community(tmp_path / "community", datasets=[dataset(path=path)])
    if breaks:
        breaks(folder)
    taken = _take(folder, tmp_path / "snapshots")
    view = taken.read()
    assert [(each.ref, each.files) for each in view.datasets] == [("ada/data", False)]
    assert view.left_out == (f"dataset ada/data: its files are left out: {reason}",)
    assert taken.mount_path("ada/data") is None
    assert not any(p.is_symlink() or "new" in p.name for p in taken.root.rglob("*"))


def test_names_that_are_taken(tmp_path: Path) -> None:
    """Items of owners named like the competition or the solutions folder are left out."""
    folder = community(
        tmp_path / "community",
        notebooks=[notebook("demo/x"), notebook("solutions/attempt-000"), notebook("ada/one")],
        datasets=[dataset("demo/y"), dataset("ada/one", path="a.csv")],
    )
    (folder / "a.csv").write_text("a\n")
    view = _take(folder, tmp_path / "snapshots").read()
    assert [each.ref for each in view.notebooks] == ["ada/one"]
    assert [(each.ref, each.files) for each in view.datasets] == [("ada/one", False)]
    assert sorted(view.left_out) == [
        "dataset ada/one: its files are left out: a notebook has the same name",
        "demo/x: its owner's name is taken below input/",
        "demo/y: its owner's name is taken below input/",
        "solutions/attempt-000: its owner's name is taken below input/",
    ]


def test_a_snapshot_taken_again_is_the_same(tmp_path: Path) -> None:
    """The same community gives the same folder, unchanged."""
    folder = community(tmp_path / "community", notebooks=[notebook()])
    first = _take(folder, tmp_path / "snapshots")
    content = hash_tree(first.root)
    assert first.key == f"demo-{content[:12]}"
    inode = first.root.stat().st_ino
    assert _take(folder, tmp_path / "snapshots").root == first.root
    assert first.root.stat().st_ino == inode
    assert [each.name for each in (tmp_path / "snapshots").iterdir()] == [first.key]


def test_an_unfinished_snapshot_is_none(tmp_path: Path) -> None:
    """A folder without a valid view is refused in one line."""
    for content in (None, "{}x", '{"notebooks": 3}'):
        if content:
            (tmp_path / "view.json").write_text(content)
        with pytest.raises(CommunityError, match="no finished community snapshot"):
            SnapshotFolder(tmp_path).read()


def _with_output(folder: Path, version: int, name: str = "submission.csv") -> None:
    written = folder / "outputs" / "ada" / "one" / str(version)
    written.mkdir(parents=True)
    (written / name).write_text("id,y\n1,0\n")


def test_the_submission_that_a_notebook_wrote_is_mounted_beside_it(tmp_path: Path) -> None:
    """Of the visible version, under a fixed name, and nothing else of its output."""
    folder = community(tmp_path / "community", notebooks=[notebook("ada/one", source="x = 1\n")])
    _with_output(folder, 1, "my_submission.csv")
    written = folder / "outputs" / "ada" / "one" / "1"
    (written / "model.pkl").write_text("?")
    (written / "submission.csv").mkdir()
    (written / "b_submission.csv").write_text("id,y\n1,7\n")
    (written / "a_submission.csv").write_text("id,y\n1,5\n")
    _with_output(folder, 2)
    taken = _take(folder, tmp_path / "snapshots")
    (shown,) = taken.read().notebooks
    assert shown.output == "output/submission.csv"
    root = taken.mount_path("ada/one")
    assert root is not None
    assert {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()} == {
        "notebook.py",
        "output/submission.csv",
    }
    assert (root / shown.output).read_text() == "id,y\n1,5\n"


def test_submission_csv_comes_before_shorter_names(tmp_path: Path) -> None:
    """Its name says that it is the one."""
    folder = community(tmp_path / "community", notebooks=[notebook("ada/one", source="x = 1\n")])
    _with_output(folder, 1)
    written = folder / "outputs" / "ada" / "one" / "1"
    (written / "Submission.csv").write_text("other\n")
    (written / "A_submission.csv").write_text("other\n")
    root = _take(folder, tmp_path / "snapshots").mount_path("ada/one")
    assert root is not None
    assert (root / "output" / "submission.csv").read_text() == "id,y\n1,0\n"


def test_submissions_of_notebooks_are_left_out_with_datasets(tmp_path: Path) -> None:
    """`datasets: false` offers no files of others."""
    folder = community(tmp_path / "community", notebooks=[notebook("ada/one", source="x = 1\n")])
    _with_output(folder, 1)
    selection = Selection(notebooks=10, discussions=10, datasets=False)
    taken = take_snapshot(
        folder,
        tmp_path / "snapshots",
        competition="demo",
        as_of=_AS_OF,
        maximize=True,
        selection=selection,
    )
    assert [each.output for each in taken.read().notebooks] == [""]


def test_a_submission_that_is_a_link_is_left_out(tmp_path: Path) -> None:
    """A link could lead to a file of the machine."""
    folder = community(tmp_path / "community", notebooks=[notebook("ada/one", source="x = 1\n")])
    written = folder / "outputs" / "ada" / "one" / "1"
    written.mkdir(parents=True)
    (written / "submission.csv").symlink_to("/etc/passwd")
    view = _take(folder, tmp_path / "snapshots").read()
    assert [each.output for each in view.notebooks] == [""]
