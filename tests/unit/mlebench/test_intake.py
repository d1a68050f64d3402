"""Each of the 75 prepared folders is taken in: its train, test, sample submission and answers."""

import contextlib
from pathlib import Path

import pandas as pd
import pytest

from comind.competitions.competition_checks import check_tables
from comind.competitions.competition_folder import load_competition
from comind.competitions.data import CompetitionData
from comind.errors import CompetitionError
from comind.mlebench.catalog import benchmark_competitions
from comind.mlebench.intake import take_in
from comind.mlebench.prepared import PreparedFolder, adapt
from tests.unit.mlebench.prepared_files import TEST, file_lists, write_prepared, write_unpacked

pytestmark = pytest.mark.slow


def _prepared(root: Path, name: str) -> PreparedFolder:
    write_prepared(root, name)
    write_unpacked(root, name)
    found = PreparedFolder.find(root, name)
    assert found is not None
    return found


def test_all_are_listed() -> None:
    """The lists of files are those of the catalog's competitions."""
    assert {*file_lists()} == {*benchmark_competitions()}


@pytest.mark.parametrize("name", file_lists())
def test_each_is_taken_in(tmp_path: Path, name: str) -> None:
    """It becomes a competition folder that passes the checks: labelled rows, test rows as asked for."""
    prepared = _prepared(tmp_path, name)
    before = {path: path.stat().st_mtime_ns for path in prepared.public.rglob("*")}
    folder = adapt(prepared.public, prepared.entry, tmp_path / "out", prepared.answers)
    assert {path: path.stat().st_mtime_ns for path in prepared.public.rglob("*")} == before
    competition = load_competition(folder)
    assert [*competition.label_columns] == file_lists()[name]["labels"]
    read = CompetitionData.read if competition.metric else CompetitionData.read_without_metric
    data = read(competition)
    assert len(data.train) > len(data.test) >= TEST
    ids = [*data.ids]
    assert sorted(map(tuple, data.test[ids].to_numpy())) == sorted(
        map(tuple, data.sample[ids].to_numpy())
    )
    check_tables(data)
    assert prepared.answers.is_file()
    assert prepared.sample.is_file() or prepared.entry.train is not None


def _train(root: Path, name: str) -> pd.DataFrame:
    """Return train.csv of a competition that was taken in below `root`."""
    prepared = _prepared(root, name)
    take_in(prepared.public, root / "public", prepared.entry)
    return pd.read_csv(root / "public" / "train.csv", dtype=str, keep_default_na=False)


_ROWS = {
    "denoising-dirty-documents": {"id": "a0_1_1", "value": str(128 / 255)},
    "mlsp-2013-birds": {"Id": "0", "Probability": "0"},
    "billion-word-imputation": {"id": "0", "sentence": "a sentence , 1 ."},
    "cdiscount-image-classification-challenge": {"_id": "1", "category_id": "0"},
    "google-research-identify-contrails-reduce-global-warming": {
        "record_id": "a0",
        "encoded_pixels": "3 2",
    },
    "herbarium-2022-fgvc9": {"Id": "1", "Predicted": "0"},
    "rsna-2022-cervical-spine-fracture-detection": {"row_id": "a0_patient_overall", "fractured": "0"},
    "siim-covid19-detection": {"id": "a0", "PredictionString": "negative 1 0 0 1 1"},
    "smartphone-decimeter-2022": {"tripId": "a0-phone", "UnixTimeMillis": "0"},
    "stanford-covid-vaccine": {"id_seqpos": "a0_0", "reactivity": "0"},
    "tensorflow2-question-answering": {"example_id": "a0_long", "PredictionString": "1:5"},
    "text-normalization-challenge-english-language": {"id": "a0_C1", "before": "0"},
    "vesuvius-challenge-ink-detection": {"Id": "a0", "Predicted": "1 2"},
    "3d-object-detection-for-autonomous-vehicles": {"PredictionString": "1.0 1 2 3 4 5 6 0.5 car"},
}


@pytest.mark.parametrize("name", _ROWS)
def test_labels_of_other_forms_become_rows(tmp_path: Path, name: str) -> None:
    """Labels in images, arrays, JSON, BSON and lists are rows in the form of a submission."""
    first = _train(tmp_path, name).iloc[0]
    assert first[[*_ROWS[name]]].to_dict() == _ROWS[name]


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("dogs-vs-cats-redux-kernels-edition", {"0": 12, "1": 12}),
        ("alaska2-image-steganalysis", {"0": 12, "1": 36}),
        ("the-icml-2013-whale-challenge-right-whale-redux", {"0": 12, "1": 12}),
        ("random-acts-of-pizza", {"0": 6, "1": 6}),
    ],
)
def test_classes_are_those_of_a_submission(tmp_path: Path, name: str, labels: dict[str, int]) -> None:
    """Classes in names, folders and JSON are spelled as the answers are."""
    table = _train(tmp_path, name)
    target = file_lists()[name]["labels"][0]
    assert table[target].value_counts().to_dict() == labels


@pytest.mark.parametrize(
    "name",
    [
        "cdiscount-image-classification-challenge",
        "herbarium-2021-fgvc8",
        "stanford-covid-vaccine",
        "tensorflow2-question-answering",
        "smartphone-decimeter-2022",
        "siim-covid19-detection",
    ],
)
def test_labels_are_in_train_alone(tmp_path: Path, name: str) -> None:
    """No other file says them, where a split could not remove those of held-out rows."""
    _train(tmp_path, name)
    said = [b"category_id\0", b'"category_id"', b"reactivity", b"annotations", b"Latitude", b"none 1 0"]
    usual = ("train.csv", "test.csv", "sample_submission.csv", "test.bson")
    for path in (tmp_path / "public").rglob("*"):
        if path.is_file() and path.name not in usual:
            assert not any(word in path.read_bytes() for word in said), path


def test_files_of_rows_stay_as_they_are(tmp_path: Path) -> None:
    """Of thousands of tables only those of the competition are converted."""
    _train(tmp_path, "icecube-neutrinos-in-deep-ice")
    names = {path.name for path in (tmp_path / "public").rglob("*.parquet")}
    assert names == {"batch_1.parquet", "batch_2.parquet"}


def test_archives_that_cannot_be_unpacked_are_said(tmp_path: Path) -> None:
    """Tables in 7z need a program of the system, or to be unpacked by hand; other such files do not."""
    name = "statoil-iceberg-classifier-challenge"
    write_prepared(tmp_path, name)
    prepared = PreparedFolder.find(tmp_path, name)
    assert prepared is not None
    with pytest.raises(CompetitionError, match=r"\.json\.7z: cannot be unpacked here") as caught:
        adapt(prepared.public, prepared.entry, tmp_path / "out")
    assert caught.value.hint


@pytest.mark.parametrize("name", file_lists())
def test_damaged_files_are_one_line(tmp_path: Path, name: str) -> None:
    """Files of labels that are cut off, or are not there, end in an error and not in a traceback."""
    prepared = _prepared(tmp_path, name)
    for number, path in enumerate(sorted(prepared.public.rglob("*"))):
        if path.is_file() and path.suffix != ".md":
            path.write_bytes(path.read_bytes()[: 9 + number % 7])
    with contextlib.suppress(CompetitionError):
        take_in(prepared.public, tmp_path / "cut", prepared.entry)
    for path in prepared.public.rglob("train*"):
        if path.is_file():
            path.unlink()
    with contextlib.suppress(CompetitionError):
        take_in(prepared.public, tmp_path / "less", prepared.entry)
