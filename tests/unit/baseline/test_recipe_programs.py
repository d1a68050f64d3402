"""The programs of a competition run without comind."""

import ast
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from comind.baseline.recipe_programs import RECIPES, programs
from comind.campaign.log.work_events import SubmissionNames
from comind.campaign.script.cells import RanCell
from comind.campaign.script.derive import Script, ScriptOrigin, all_cells, derive
from comind.domain.problem import DataShape, Problem
from comind.metrics import known_metric
from tests.unit.baseline.tiny import COMPETITIONS

pytestmark = pytest.mark.slow

_NAMES = SubmissionNames()


def _problem(shape: DataShape) -> Problem:
    return Problem(
        competition="demo",
        title="A demo",
        description="",
        preview="",
        metric="rmse",
        maximize=False,
        answer_kind="number",
        shape=shape,
        id_columns=("id",),
        train_id_columns=("Id",),
        label_columns=("y",),
        target_columns=("y",),
        train_rows=2,
        validation_rows=1,
        test_rows=1,
    )


def _cells(code: str) -> list[RanCell]:
    return [RanCell(1, "Run the recipe.", code, 0, _NAMES)]


def _run(script: Script, workspace: Path) -> list[pd.DataFrame]:
    """Run a script where comind cannot be imported; return its submissions."""
    (workspace / script.file_name).write_text(script.text)
    alone = "sys.modules['comind'] = None; runpy.run_path(sys.argv[1], run_name='__main__')"
    command = [sys.executable, "-I", "-c", f"import runpy, sys; {alone}", script.file_name]
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # tiny data, and busy machines
    done = subprocess.run(
        command, cwd=workspace, capture_output=True, text=True, check=False, env=one_thread
    )
    assert done.returncode == 0, done.stderr
    return [
        pd.read_csv(workspace / name, keep_default_na=False) for name in (_NAMES.validation, _NAMES.test)
    ]


@pytest.mark.parametrize(
    ("shape", "names"),
    [
        (DataShape.TABLE, ["table", "constant"]),
        (DataShape.TEXT, ["text", "table", "constant"]),
        (DataShape.TEXT_TO_TEXT, ["text to text", "table", "constant"]),
        (DataShape.IMAGES, ["images", "table", "constant"]),
        (DataShape.MASKS, ["image masks", "table", "constant"]),
        (DataShape.PIXELS, ["pixels", "table", "constant"]),
        (DataShape.AUDIO, ["audio", "table", "constant"]),
        (DataShape.PANEL, ["panel", "table", "constant"]),
    ],
)
def test_the_best_comes_first(shape: DataShape, names: list[str]) -> None:
    """The recipe of the shape comes first, then tables, then constants, each once."""
    assert [each.name for each in programs(_problem(shape), 0)] == names


@pytest.mark.parametrize("shape", RECIPES)
def test_a_constant_is_run_first_where_a_recipe_takes_long(shape: DataShape) -> None:
    """A recipe for images, say, or for many rows follows an answer that is there within seconds."""
    problem = _problem(shape)
    small, large = problem, problem.model_copy(update={"train_rows": 50_000})
    first = [[each.name for each in programs(of, 0) if each.first] for of in (small, large)]
    assert first == [[] if shape is DataShape.TABLE else ["constant"], ["constant"]]


def test_of_many_rows_a_sample_comes_second() -> None:
    """A recipe that cannot finish on all rows is followed by itself on some of them."""
    many = _problem(DataShape.TABLE).model_copy(update={"train_rows": 50_000})
    assert [each.name for each in programs(many, 0)] == ["table", "table on 10,000 rows", "constant"]


@pytest.mark.parametrize("shape", [DataShape.TABLE, DataShape.TEXT, DataShape.IMAGES])
def test_a_program_on_a_sample_predicts_all_rows(tmp_path: Path, shape: DataShape) -> None:
    """Rows of train are sampled; those of validation and test are all predicted."""
    problem = COMPETITIONS[shape](tmp_path).model_copy(update={"train_rows": 50_000})
    code = programs(problem, 0)[1].code.replace("sample(10000", "sample(20")
    found = _run(derive(_cells(code)), tmp_path)
    assert [len(each) for each in found] == [problem.validation_rows, problem.test_rows]


@pytest.mark.parametrize("shape", RECIPES)
def test_a_program_is_whole(shape: DataShape) -> None:
    """It compiles, names the competition's columns and both submissions, and ends with what it does."""
    for program in programs(_problem(shape), 3):
        compile(program.code, program.name, "exec")
        assert "task = Task(\n    folder='input/demo',\n    id_columns=['id'],\n" in program.code
        assert "    train_id_columns=['Id'],\n" in program.code
        assert "    seed=3,\n" in program.code
        assert '"validation_submission.csv"' in program.code
        assert '"submission.csv"' in program.code
        assert program.code.endswith(
            "(task)\npredicted = predict(task, tables)\nwrite_submissions(task, tables, predicted)\n"
        )


@pytest.mark.parametrize("shape", RECIPES)
def test_a_derived_script_loses_nothing_that_counts(shape: DataShape) -> None:
    """Of a program that ran as a cell, the script keeps every definition that what is left needs."""
    for program in programs(_problem(shape), 0):
        script = derive(_cells(program.code))
        assert script.origin is ScriptOrigin.DERIVED
        defined, kept = (_definitions(code) for code in (program.code, script.text))
        loaded = {node.id for node in ast.walk(ast.parse(script.text)) if isinstance(node, ast.Name)}
        assert defined & loaded <= kept
        assert {"Task", "predict", "write_submissions"} <= kept
        assert ("np.random.seed(task.seed)" in script.text) == ("skrub" in program.code)


def _definitions(code: str) -> set[str]:
    kinds = ast.FunctionDef | ast.ClassDef
    return {node.name for node in ast.parse(code).body if isinstance(node, kinds)}


@pytest.mark.parametrize("shape", RECIPES)
def test_a_derived_script_runs_without_us(shape: DataShape, tmp_path: Path) -> None:
    """Of a program that ran as a cell, the script alone hands in an answer for every row, by its ids."""
    problem = COMPETITIONS[shape](tmp_path)
    handed_in = _run(derive(_cells(programs(problem, 0)[0].code)), tmp_path)
    for part, found in zip(("validation", "test"), handed_in, strict=True):
        rows = pd.read_csv(tmp_path / problem.folder / f"{part}.csv")
        assert [*found.columns] == [*problem.id_columns, *problem.target_columns]
        ids = list(problem.id_columns)
        pd.testing.assert_frame_equal(found[ids], rows[ids])
        answered = found[problem.target_columns[0]].astype(str).str.len() > 0
        assert answered.any() if shape is DataShape.MASKS else answered.all()  # a mask may be empty


@pytest.mark.parametrize("shape", [DataShape.TABLE, DataShape.TEXT])
def test_labels_have_probabilities_beside_them(shape: DataShape, tmp_path: Path) -> None:
    """The derived script of labels writes the probability of each class; the constant has none."""
    given = COMPETITIONS[DataShape.TEXT](tmp_path)
    accuracy = {"metric": "accuracy", "traits": known_metric("accuracy").traits}
    problem = given.model_copy(update=accuracy | {"shape": shape})
    recipe, *_, constant = programs(problem, 0)
    beside = ("validation_probabilities.csv", "test_probabilities.csv")
    _run(derive(_cells(constant.code)), tmp_path)
    assert not any((tmp_path / name).exists() for name in beside)
    for labels, name in zip(_run(derive(_cells(recipe.code)), tmp_path), beside, strict=True):
        found = pd.read_csv(tmp_path / name)
        assert [*found.columns] == ["id", "no", "yes"]
        assert found["id"].equals(labels["id"])
        shares = found[["no", "yes"]]
        assert shares.sum(axis=1).to_numpy() == pytest.approx(1)
        assert shares.idxmax(axis=1).equals(labels["y"])


def test_both_scripts_of_a_cell_hand_in_the_same(tmp_path: Path) -> None:
    """All cells as they stand run, too, and say what the derived script says."""
    cells = _cells(programs(COMPETITIONS[DataShape.TEXT](tmp_path), 0)[0].code)
    assert cells[0].code in all_cells(cells).text
    for whole, derived in zip(
        _run(all_cells(cells), tmp_path), _run(derive(cells), tmp_path), strict=True
    ):
        pd.testing.assert_frame_equal(whole, derived, check_exact=True)
