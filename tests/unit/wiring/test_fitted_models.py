"""A script that loads its models predicts other rows without fitting; nothing else counts as models."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from comind.campaign.log.campaign_folders import WorkFolder
from comind.campaign.script.derive import Script, ScriptOrigin
from comind.session.session_ports import CellResult, CellStatus
from comind.wiring.other_rows import AttemptScript

_TEST = pd.DataFrame({"id": ["a", "b", "c", "d", "e"], "x": [1, 2, 3, 4, 5]})


def _doubled(public: Path, fitted: Path) -> pd.DataFrame:
    """Predict each row from its own columns, with the factor of the saved model."""
    rows = pd.read_csv(public / "test.csv")
    return rows[["id"]].assign(y=rows["x"] * int((fitted / "model").read_text()))


def _kept(public: Path, fitted: Path) -> pd.DataFrame:
    """Return predictions in the order of the first run, whatever the rows are."""
    ids = pd.read_csv(public / "test.csv")["id"]
    return pd.DataFrame({"id": ids, "y": [2, 4, 6, 8, 10][: len(ids)]})


def _fails(public: Path, fitted: Path) -> pd.DataFrame:
    raise KeyError(public, fitted)


@pytest.mark.parametrize(
    ("program", "text", "loads"),
    [
        (_doubled, "open('input/fitted/model')", True),
        (_doubled, "fit again", False),
        (_kept, "open('input/fitted/predictions')", False),
        (_fails, "open('input/fitted/model')", False),
    ],
)
def test_only_models_that_predict_other_rows_alike_are_kept(
    tmp_path: Path, program: Callable[[Path, Path], pd.DataFrame], text: str, loads: bool
) -> None:
    """Saved models count if half of the rows, reversed, get the predictions that were handed in."""
    public, checkpoints, place = (tmp_path / name for name in ("public", "checkpoints", "place"))
    expected, folder = tmp_path / "expected", WorkFolder(tmp_path / "attempt-001")
    for each in (public, checkpoints, expected, folder.root):
        each.mkdir()
    (checkpoints / "model").write_text("2")
    _TEST.to_csv(public / "test.csv", index=False)
    _TEST[["id"]].assign(y=0).to_csv(public / "sample_submission.csv", index=False)
    _TEST[["id"]].assign(y=2 * _TEST["x"]).to_csv(expected / "submission.csv", index=False)

    def run_script(
        work: object, folder: object, arguments: object, workspace: Path, seconds: float,
        rows: Path, fitted: Path,
    ) -> CellResult:  # fmt: skip
        try:
            program(rows, fitted).to_csv(workspace / "t.csv", index=False)
        except KeyError as error:
            return CellResult(status=CellStatus.ERROR, error=repr(error), seconds=1.0)
        return CellResult(status=CellStatus.OK, seconds=1.5)

    split = SimpleNamespace(
        public=public,
        sample=public / "sample_submission.csv",
        read=lambda: SimpleNamespace(id_columns=("id",)),
    )
    runtime = SimpleNamespace(
        run_script=run_script, split_folder=split, public_folder=lambda work, folder: public
    )
    script = Script(ScriptOrigin.DERIVED, text, plain=True, validation="v.csv", test="t.csv")
    again = AttemptScript(runtime, None, folder, script)  # type: ignore[arg-type]
    took = again.loading_seconds(checkpoints, expected, place, 60.0)
    assert took == (1.5 if loads else None)
    assert folder.fitted.is_dir() is loads
