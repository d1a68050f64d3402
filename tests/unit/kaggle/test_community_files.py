"""Files of datasets and submissions of notebooks come with a fetch, up to a size."""

import io
import json
import zipfile
from pathlib import Path

from comind.errors import KaggleBusyError, KaggleRefusedError
from comind.kaggle.community_fetch import CommunityNews, FetchLimits, fetch_community
from comind.kaggle.port import DatasetFacts
from tests.doubles.clock import QuickClock
from tests.doubles.kaggle import ScriptedKaggle
from tests.unit.kaggle.world import SLUG, tiny_world

_SUBMISSION = b"Id,Price\n9,1\n10,2\n"


def _kaggle() -> ScriptedKaggle:
    """Return a Kaggle where a notebook uses a dataset with files, and wrote a submission."""
    world = tiny_world()
    world.datasets = (DatasetFacts(ref="bob/more", title="More rows", version=2),)
    world.item_files = {
        "bob/more": {"more.csv": b"Id,rooms,Price\n11,3,30\n", "deep/notes.txt": b"hello"},
        "ann/best": {"submission.csv": _SUBMISSION, "model.bin": b"?" * 100},
    }
    return ScriptedKaggle(world)


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


def test_what_is_larger_than_the_limit_stays_without_files(tmp_path: Path) -> None:
    """A dataset above the limit is known by name, and comes once the limit allows for it."""
    kaggle = _kaggle()
    assert _fetch(kaggle, tmp_path, files_mb=0.000001).files == 0
    assert "path" not in _dataset_line(tmp_path)
    assert _fetch(kaggle, tmp_path, files_mb=1).files == 2


def test_an_archive_that_holds_more_than_its_list_says_is_refused(tmp_path: Path) -> None:
    """The limit holds for what is unpacked."""
    kaggle, packed = _kaggle(), io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("more.csv", b"0" * 2_000_000)
    kaggle.world.item_files["bob/more"] = {"more.zip": packed.getvalue()}
    assert len(packed.getvalue()) < 1_000_000
    _fetch(kaggle, tmp_path, files_mb=1)
    assert "path" not in _dataset_line(tmp_path)
    assert not (tmp_path / "datasets").exists()


def test_no_files_where_kaggle_refuses_them(tmp_path: Path) -> None:
    """A refusal costs the files of one item; the rest of the fetch goes on."""
    kaggle = _kaggle()
    kaggle.failures["dataset_files"] = [KaggleRefusedError("bob/more: the licence was not accepted")]
    assert _fetch(kaggle, tmp_path) == CommunityNews(notebooks=2, discussions=1, datasets=1, files=1)
    assert "path" not in _dataset_line(tmp_path)


def test_a_busy_kaggle_ends_the_files_and_the_next_fetch_goes_on(tmp_path: Path) -> None:
    """What is complete stays."""
    kaggle = _kaggle()
    kaggle.failures["download_output"] = [KaggleBusyError("ann/best: Kaggle is busy")]
    stopped = _fetch(kaggle, tmp_path)
    assert stopped.stopped == "ann/best: Kaggle is busy"
    assert _dataset_line(tmp_path)["path"] == "datasets/bob/more/2"
    assert _fetch(kaggle, tmp_path).files == 1


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
