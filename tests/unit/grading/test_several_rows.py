"""Masks of instances: several rows an id, in downloads, answers and submissions."""

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.competitions.competition_folder import load_competition
from comind.competitions.download.plain_download import arrange_download
from comind.grading.grader_server import SplitGrader
from comind.splits.checked_plan import check_competition
from comind.splits.split_files import make_split
from comind.tables.csv_tables import join_rows, split_rows
from tests.unit.metrics.custom import CUSTOM_METRICS

_PAGE = (
    "# Ships\n\n## Evaluation\n\nEvaluated on the F2 Score at different intersection over union (IoU) "
    "thresholds.\n\nMasks have run-length encoding; each ship is a row.\n"
)


def _score(metric: str, truth: str, guess: str) -> float:
    one = CUSTOM_METRICS[metric]
    tables = (pd.DataFrame({"m": one.parse(pd.Series([cell]))}) for cell in (truth, guess))
    return one.score(*tables)


@pytest.mark.parametrize(
    ("metric", "truth", "guess", "value"),
    [
        ("instance-precision", "1 10;21 10", "21 10;1 10", 1.0),
        ("instance-precision", "1 10;21 10", "1 10", 0.5),
        ("instance-precision", "", "", 1.0),
        ("instance-precision", "", "1 10", 0.0),
        ("instance-precision", "1 10", "", 0.0),
        # 8 of 10 pixels shared: above 0.50, 0.55 ... 0.75
        ("instance-precision", "1 10", "1 8", 0.6),
        ("instance-f2", "1 10;21 10", "1 10", 5 / (5 + 4)),
        ("instance-f2", "1 10", "1 10;21 10", 5 / (5 + 1)),
    ],
)
def test_instances_are_matched(metric: str, truth: str, guess: str, value: float) -> None:
    """Values by hand: a true mask is found above the threshold of IoU."""
    assert _score(metric, truth, guess) == pytest.approx(value)


@pytest.mark.parametrize("cell", ["1 5;3 4", "1", "0 3", "1 2;x"])
def test_invalid_instances_are_refused(cell: str) -> None:
    """Overlapping masks and broken encodings name the row's cell."""
    with pytest.raises(ValueError, match="masks that do not overlap in 1 of 1 rows, for instance"):
        CUSTOM_METRICS["instance-f2"].parse(pd.Series([cell]))


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["1 2", "5 6"])), min_size=1))
def test_rows_are_joined_and_split_again(rows: list[tuple[int, str]]) -> None:
    """Joining the rows of an id loses none, and splitting gives them back."""
    table = pd.DataFrame(rows, columns=["id", "mask"]).astype(str)
    joined = join_rows(table, ["id"], ["mask"], ";")
    assert not joined["id"].duplicated().any()
    again = split_rows(joined, ["mask"], ";")
    assert sorted(again.itertuples(index=False)) == sorted(table.itertuples(index=False))


def test_a_download_with_a_row_an_object_is_graded(tmp_path: Path) -> None:
    """Rows of one image stay together in the split; submissions may have a row an object."""
    source = tmp_path / "ships"
    source.mkdir()
    train = pd.DataFrame(
        {
            "ImageId": [f"s{row // 2}.jpg" for row in range(160)],
            "EncodedPixels": [f"{row % 2 * 50 + 1} {row % 7 + 3}" for row in range(160)],
        }
    )
    train.loc[:1, "EncodedPixels"] = ""  # an image without a ship
    train.to_csv(source / "train_ship_segmentations_v2.csv", index=False)
    sample = pd.DataFrame({"ImageId": [f"t{row}.jpg" for row in range(30)], "EncodedPixels": "1 2"})
    sample.to_csv(source / "sample_submission_v2.csv", index=False)
    (source / "description.md").write_text(_PAGE)
    layout = arrange_download(source, tmp_path / "data" / "ships")
    assert any("160 rows of 80 ids, joined by ';'" in line for line in layout.lines())
    joined = pd.read_csv(layout.folder / "public" / "train.csv", dtype=str, keep_default_na=False)
    assert list(joined["EncodedPixels"].head(2)) == ["", "1 5;51 6"]
    competition = load_competition(layout.folder)
    assert competition.metric == "instance-f2"
    check_competition(competition)
    split = make_split(competition, tmp_path / "splits", seed=0)
    answers = pd.read_csv(split.answers, dtype=str)
    split_rows(answers, ["EncodedPixels"], ";").to_csv(tmp_path / "validation.csv", index=False)
    report = SplitGrader(split).grade(tmp_path / "validation.csv", source / "sample_submission_v2.csv")
    assert report.score is not None, report.message
    assert report.score.value.value == 1.0
