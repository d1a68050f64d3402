"""Files of datasets and submissions of notebooks come with a fetch, up to a size."""

import io
import json
import zipfile
from pathlib import Path

from comind.errors import KaggleBusyError, KaggleRefusedError
from comind.kaggle.community_fetch import CommunityNews, FetchLimits, fetch_community
from comind.kaggle.community_files import CommunityFiles
from comind.kaggle.port import DatasetFacts
from tests.doubles.clock import QuickClock
from tests.doubles.kaggle import ScriptedKaggle
from tests.unit.kaggle.world import SLUG, day, tiny_world

_SUBMISSION = b"Id,Price\n9,1\n10,2\n"
_OTHERS = CommunityNews(notebooks=2, discussions=1, datasets=1, files=1)
"""What comes where the dataset has no files."""


def _kaggle() -> ScriptedKaggle:
    """Return a Kaggle where a notebook uses a dataset with files, and wrote a submission."""
    world = tiny_world()
    world.datasets = (DatasetFacts(ref="bob/more", title="More rows", version=2),)
    world.item_files = {
        "bob/more": {"more.csv": b"Id,rooms,Price\n11,3,30\n", "deep/notes.txt": b"hello"},
        "ann/best": {"submission.csv": _SUBMISSION, "model.bin": b"?" * 100},
    }
    return ScriptedKaggle(world)


def _zip(name: str, content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr(name, content)
    return packed.getvalue()


def _fetch(kaggle: ScriptedKaggle, folder: Path, **limits: float) -> CommunityNews:
    kaggle.calls.clear()
    given = FetchLimits.model_validate(limits)
    return fetch_community(kaggle, SLUG, folder, limits=given, clock=QuickClock(), lower=True)


def _dataset_line(folder: Path) -> dict[str, object]:
    (line,) = (json.loads(text) for text in (folder / "datasets.jsonl").read_text().splitlines())
    return line


def test_a_dataset_that_a_notebook_uses_comes_with_its_files(tmp_path: Path) -> None:
    """The line of the dataset names their folder, and a second fetch does not ask for them again."""
    kaggle = _kaggle()
    assert _fetch(kaggle, tmp_path).files == 2
    path = _dataset_line(tmp_path)["path"]
    assert path == "datasets/bob/more/2"
    assert (tmp_path / str(path) / "more.csv").read_bytes().endswith(b"30\n")
    assert (tmp_path / str(path) / "deep" / "notes.txt").read_bytes() == b"hello"
    assert _fetch(kaggle, tmp_path).files == 0
    assert not any(name.startswith("download") for name, _ in kaggle.calls)
    assert _dataset_line(tmp_path)["path"] == path
    assert not (tmp_path / ".staging").exists()


def test_a_notebook_comes_with_the_submission_that_it_wrote_alone(tmp_path: Path) -> None:
    """Other files of its run are not fetched."""
    _fetch(_kaggle(), tmp_path)
    (found,) = (path for path in (tmp_path / "outputs").rglob("*") if path.is_file())
    assert found == tmp_path / "outputs" / "ann" / "best" / "3" / "submission.csv"
    assert found.read_bytes() == _SUBMISSION


def test_notebooks_without_a_submission_are_asked_once(tmp_path: Path) -> None:
    """That a run wrote none is remembered."""
    kaggle = _kaggle()
    _fetch(kaggle, tmp_path)
    assert ("output_files", "bob/liked") in kaggle.calls
    _fetch(kaggle, tmp_path)
    assert not [call for call in kaggle.calls if call[0] == "output_files"]


def test_no_submission_where_its_run_is_unknown(tmp_path: Path) -> None:
    """What Kaggle has now may be later than the version that is known."""
    kaggle = _kaggle()
    unknown = {"version": None, "last_run": None}
    listed = tuple(each.model_copy(update=unknown) for each in kaggle.world.notebooks)
    kaggle.world.notebooks = listed
    assert _fetch(kaggle, tmp_path).notebooks == 2
    assert not (tmp_path / "outputs").exists()


def test_what_is_larger_than_the_limit_stays_without_files(tmp_path: Path) -> None:
    """A dataset above the limit is known by name, and comes once the limit allows for it."""
    kaggle = _kaggle()
    assert _fetch(kaggle, tmp_path, files_mb=0.000001).files == 0
    assert "path" not in _dataset_line(tmp_path)
    assert _fetch(kaggle, tmp_path, files_mb=1).files == 2


def test_an_archive_that_holds_more_than_its_list_says_is_refused(tmp_path: Path) -> None:
    """The limit holds for what is unpacked."""
    kaggle = _kaggle()
    packed = _zip("more.csv", b"0" * 2_000_000)
    kaggle.world.item_files["bob/more"] = {"more.csv": packed}
    assert len(packed) < 1_000_000
    _fetch(kaggle, tmp_path, files_mb=1)
    assert "path" not in _dataset_line(tmp_path)
    assert not [path for path in (tmp_path / "datasets").rglob("*") if path.is_file()]
    _fetch(kaggle, tmp_path, files_mb=100)
    assert not [name for name, _ in kaggle.calls if name == "download_dataset"]


def test_no_files_where_kaggle_refuses_them(tmp_path: Path) -> None:
    """A refusal costs the files of one item; the rest of the fetch goes on."""
    kaggle = _kaggle()
    kaggle.failures["dataset_files"] = [KaggleRefusedError("bob/more: the licence was not accepted")]
    assert _fetch(kaggle, tmp_path) == _OTHERS
    assert "path" not in _dataset_line(tmp_path)


def test_a_busy_kaggle_ends_the_files_and_the_next_fetch_goes_on(tmp_path: Path) -> None:
    """What is complete stays."""
    kaggle = _kaggle()
    kaggle.failures["download_dataset"] = [KaggleBusyError("bob/more: Kaggle is busy")]
    stopped = _fetch(kaggle, tmp_path)
    assert stopped.stopped == "bob/more: Kaggle is busy"
    assert (tmp_path / "outputs" / "ann" / "best" / "3" / "submission.csv").is_file()
    assert _fetch(kaggle, tmp_path).files == 1
    assert _dataset_line(tmp_path)["path"] == "datasets/bob/more/2"


def test_names_that_lead_out_of_the_folder_are_refused(tmp_path: Path) -> None:
    """Such a dataset has no files."""
    kaggle = _kaggle()
    kaggle.world.item_files["bob/more"] = {"../../escape.csv": b"x"}
    _fetch(kaggle, tmp_path)
    assert "path" not in _dataset_line(tmp_path)
    assert not list(tmp_path.parent.glob("escape.csv"))


def test_models_of_a_notebook_are_kept_by_reference(tmp_path: Path) -> None:
    """Their weights are not fetched."""
    kaggle = _kaggle()
    best, liked = kaggle.world.notebooks
    used = ("google/bert/pyTorch/base/2",)
    kaggle.world.notebooks = (best.model_copy(update={"models": used}), liked)
    _fetch(kaggle, tmp_path)
    lines = [json.loads(text) for text in (tmp_path / "notebooks.jsonl").read_text().splitlines()]
    assert [line["models"] for line in lines if line["ref"] == "ann/best"] == [list(used)]


def test_a_dataset_that_the_disk_or_file_system_refuses_costs_its_files_alone(tmp_path: Path) -> None:
    """The fetch ends without an error."""
    kaggle = _kaggle()
    kaggle.world.listed_sizes = {"more.csv": 10**16}
    assert _fetch(kaggle, tmp_path, files_mb=1e12) == _OTHERS
    kaggle = _kaggle()
    kaggle.world.item_files["bob/more"] = {"\u00e9" * 200: b"too long a name in bytes"}
    assert _fetch(kaggle, tmp_path / "other") == _OTHERS


def test_a_corrupt_file_costs_the_files_of_its_dataset_alone(tmp_path: Path) -> None:
    """The other items follow."""
    kaggle = _kaggle()
    kaggle.world.corrupt = {"more.csv"}
    assert _fetch(kaggle, tmp_path) == _OTHERS
    assert [what for name, what in kaggle.calls if name == "download_dataset"][-2:] == [
        "bob/more more.csv",
        "bob/more more.csv",
    ]


def test_references_that_lead_out_of_the_folder_are_skipped(tmp_path: Path) -> None:
    """A server cannot choose where files are written."""
    kaggle, folder = _kaggle(), tmp_path / "deep" / "down" / "community"
    folder.mkdir(parents=True)
    best, liked = kaggle.world.notebooks
    bad = "../.."
    best, liked = best.model_copy(update={"datasets": (bad,)}), liked.model_copy(update={"ref": bad})
    kaggle.world.notebooks = (best, liked)
    kaggle.world.datasets = (DatasetFacts(ref=bad, title=SLUG, version=2),)
    kaggle.world.item_files[bad] = {"submission.csv": b"x"}
    assert _fetch(kaggle, folder).notebooks == 1
    assert [path for path in tmp_path.rglob("*") if path.is_file() and folder not in path.parents] == []
    assert not {bad, ".."} & {what.split(" ")[0] for _, what in kaggle.calls}
    assert not (folder / "datasets.jsonl").exists()


def test_what_came_and_was_refused_counts_for_the_limit(tmp_path: Path) -> None:
    """Bytes of a corrupt file are spent too."""
    kaggle = _kaggle()
    best, liked = kaggle.world.notebooks
    kaggle.world.notebooks = (best.model_copy(update={"datasets": ("bob/more", "cy/more")}), liked)
    kaggle.world.datasets += (DatasetFacts(ref="cy/more", title="More", version=1),)
    kaggle.world.corrupt = {"more.csv"}
    kaggle.world.item_files["bob/more"] = {"more.csv": b"0" * 600_000}
    kaggle.world.item_files["cy/more"] = {"other.csv": b"0" * 600_000}
    assert _fetch(kaggle, tmp_path, files_mb=1.5).files == 1
    assert "cy/more other.csv" not in {what for _, what in kaggle.calls}


def test_files_of_unknown_size_are_refused(tmp_path: Path) -> None:
    """A limit would mean nothing for them."""
    kaggle = _kaggle()
    kaggle.world.listed_sizes = {"more.csv": 0}
    assert _fetch(kaggle, tmp_path) == _OTHERS
    assert not [name for name, _ in kaggle.calls if name == "download_dataset"]


def test_a_dataset_whose_list_is_longer_than_what_is_read_has_no_files(tmp_path: Path) -> None:
    """A part of it would be taken for all."""
    kaggle = _kaggle()
    kaggle.world.item_files["bob/more"] = {f"{number:03}.csv": b"?" for number in range(100)}
    assert _fetch(kaggle, tmp_path) == _OTHERS


def test_files_keep_their_own_names(tmp_path: Path) -> None:
    """Only the zip that Kaggle makes of a single file is undone."""
    kaggle = _kaggle()
    files = {
        "validation.csv": b"a\n1\n",
        "more.csv.gz": b"not even a gzip",
        "all.zip": _zip("inside.csv", b"a\n"),
    }
    kaggle.world.item_files["bob/more"] = files | {"deep/one.csv": _zip("one.csv", b"b\n2\n")}
    _fetch(kaggle, tmp_path)
    root = tmp_path / "datasets" / "bob" / "more" / "2"
    paths = [path for path in root.rglob("*") if path.is_file()]
    found = {str(path.relative_to(root)): path.read_bytes() for path in paths}
    assert found == files | {"deep/one.csv": b"b\n2\n"}


def test_a_file_of_another_version_is_not_reused(tmp_path: Path) -> None:
    """Also where its name and size are the same, and the earlier fetch was interrupted."""
    kaggle = _kaggle()
    kaggle.world.item_files["bob/more"] = {"a.csv": b"old", "b.csv": b"old"}
    kaggle.world.corrupt = {"b.csv"}
    staging = CommunityFiles(kaggle, tmp_path, 1)
    assert staging.dataset("bob/more", 2) == ""
    kaggle.world.corrupt = set()
    kaggle.world.item_files["bob/more"] = {"a.csv": b"new", "b.csv": b"new"}
    assert staging.dataset("bob/more", 3) == "datasets/bob/more/3"
    assert (tmp_path / "datasets" / "bob" / "more" / "3" / "a.csv").read_bytes() == b"new"


def test_one_submission_of_a_notebook_is_fetched(tmp_path: Path) -> None:
    """`submission.csv`, else the one with the shortest name."""
    kaggle = _kaggle()
    kaggle.world.item_files["ann/best"]["a_submission.csv"] = b"another"
    kaggle.world.item_files["bob/liked"] = {"submission_2.csv": b"2", "submission_10.csv": b"10"}
    _fetch(kaggle, tmp_path)
    assert [what for name, what in kaggle.calls if name == "download_output"] == [
        "ann/best submission.csv",
        "bob/liked submission_2.csv",
    ]
    order = [name for name, _ in kaggle.calls if name.startswith("download")]
    assert order[:2] == ["download_output", "download_output"]


def test_a_long_list_of_outputs_is_not_taken_for_none(tmp_path: Path) -> None:
    """A submission may be listed beyond the pages that are read."""
    kaggle = _kaggle()
    kaggle.world.item_files["ann/best"] = {f"fold{number:03}.bin": b"?" for number in range(100)}
    _fetch(kaggle, tmp_path)
    assert not (tmp_path / "outputs" / "ann" / "best").exists()
    assert (tmp_path / "outputs" / "bob" / "liked").is_dir()


def test_files_belong_to_the_version_that_a_dataset_has_when_they_come(tmp_path: Path) -> None:
    """A version that is published after the line was written has a line with its own time."""
    kaggle = _kaggle()
    _fetch(kaggle, tmp_path, files_mb=0)
    kaggle.world.datasets = (DatasetFacts(ref="bob/more", title="More rows", version=3, updated=day(9)),)
    _fetch(kaggle, tmp_path)
    texts = (tmp_path / "datasets.jsonl").read_text().splitlines()
    lines = {line["version"]: line for line in map(json.loads, texts)}
    assert "path" not in lines[2]
    assert lines[3]["path"] == "datasets/bob/more/3"
    assert lines[3]["published_at"].startswith("2023-12-09")
