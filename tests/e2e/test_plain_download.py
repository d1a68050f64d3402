"""A competition is solved from the zip that was downloaded."""

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.e2e.command import comind
from tests.unit.competitions.download.downloads import DOWNLOADS, Download, place


@pytest.fixture(scope="module")
def zipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A zip of pictures in folders of classes, without tables."""
    case = next(case for case in DOWNLOADS if case.name == "pictures in folders of classes")
    return place(case.files(), tmp_path_factory.mktemp("downloads"), packed=True)


def test_it_is_inspected_and_solved(zipped: Path, tmp_path: Path, shared_server: str) -> None:
    """`inspect` prints what is inferred, and `solve` submits a label for each test file."""
    seen = comind("inspect", zipped, "--out", tmp_path, "--json")
    assert seen.exit_code == 0, seen.stderr
    assert (seen.json["metric"], seen.json["labels"]) == ("accuracy", ["label"])
    assert seen.json["rows"] == {
        "labelled": 60,
        "train": 45,
        "validation": 15,
        "excluded": 0,
        "test": 20,
    }
    assert "60 images in 2 folders of train/" in seen.stderr
    quick = ("--model", "offline", "--iterations", "1", "--no-refit")
    ran = comind("solve", zipped, *quick, "--out", tmp_path, "--json")
    assert ran.exit_code == 0, ran.stderr
    assert ran.json["validation_score"] == 1.0
    submitted = pd.read_csv(ran.json["submission"], dtype=str)
    assert submitted["id"].tolist() == [f"{row:03d}" for row in range(60, 80)]
    assert set(submitted["label"]) == {"bright", "dark"}
    split = next((tmp_path / "data" / "splits").glob("*/public"))
    assert not [path for path in split.rglob("*.png") if "bright" in str(path) or "dark" in str(path)]
    checks = json.loads((split.parent / "checks" / "validation.json").read_text())
    assert checks


def test_what_is_open_is_said_in_one_line(tmp_path: Path) -> None:
    """A folder without tables is refused before anything is started."""
    (tmp_path / "empty").mkdir()
    ran = comind("solve", tmp_path / "empty", "--out", tmp_path / "project", "--json")
    assert ran.exit_code == 2
    assert len(ran.error_lines) == 1
    assert ran.error_lines[0].endswith("empty: has no files")
    assert not (tmp_path / "project" / "runs").exists()


@pytest.mark.torture
@pytest.mark.parametrize("case", DOWNLOADS, ids=lambda case: case.name)
def test_every_download_is_solved(case: Download, tmp_path: Path, shared_server: str) -> None:
    """The baseline makes a valid submission of each kind, or the metric is asked for in one line."""
    download = place(case.files(), tmp_path, packed=case.packed)
    described = ("--describe", case.describe) if case.describe else ()
    quick = ("--model", "offline", "--iterations", "1", "--no-refit", "--no-blend")
    project = tmp_path / "project"
    ran = comind("solve", download, *described, *quick, "--out", project, "--json")
    if case.metric is None:
        assert ran.exit_code == 2
        assert ["names no metric" in line for line in ran.error_lines] == [True]
        return
    assert ran.exit_code == 0, ran.stderr
    assert ran.json["valid_attempts"] == 1, ran.stderr
    sample = project / "data" / "downloads" / "download" / "public" / "sample_submission.csv"
    asked, submitted = (pd.read_csv(path, dtype=str) for path in (sample, ran.json["submission"]))
    assert list(submitted.columns) == list(asked.columns)
    ids = asked.columns[0]
    assert sorted(submitted[ids]) == sorted(asked[ids])
