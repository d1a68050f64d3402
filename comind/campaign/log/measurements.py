"""Measure what the cells of an attempt took: seconds, scores and parts, the models that they fit.

All of it is from recorded cells and from the syntax of their code. What a model announced or printed is
not used.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from comind.campaign.log.outcome import CellTiming
from comind.campaign.log.work import Code
from comind.campaign.log.work_state import AttemptState, CellRun
from comind.session.session_ports import CellStatus
from comind.system.syntax import parse_or_none

_MOST_TIMINGS = 60
_MOST_MODELS = 4
_MOST_PARTS = 7  # after the first name of a call
_MODEL_NAME = 40  # characters; agents read it
_LINE_OF_VOTING = re.compile(r"\[Voting\] \.+ \(\d+ of \d+\) Processing (\w+), total= *([\d.]+)(s|min)")
"""Printed by scikit-learn for each model of the baseline's ensemble."""
_LIBRARIES = ("lightgbm", "xgboost", "catboost")
_NETS = ("torch", "timm", "transformers", "tensorflow", "keras")
_MODULES = (
    "calibration",
    "cross_decomposition",
    "discriminant_analysis",
    "ensemble",
    "gaussian_process",
    "isotonic",
    "kernel_ridge",
    "linear_model",
    "naive_bayes",
    "neighbors",
    "neural_network",
    "svm",
    "tree",
)
"""Modules of scikit-learn whose classes are models."""
_DEFINITIONS = (ast.FunctionDef, ast.ClassDef)
_NO_MODELS = ("Dataset", "DMatrix", "QuantileDMatrix", "Pool")


def measurements(work: Code, state: AttemptState) -> dict[str, Any]:
    """Return the fields of an attempt's outcome that say what its cells took."""
    cells = [cell for cell in state.cells if cell.result is not None]
    made = models_of_cells([cell.code for cell in cells])
    by_cell = {cell.number: models for cell, models in zip(cells, made, strict=True)}
    timings = [
        _timing(
            cell,
            _newest_first([by_cell[each.number] for each in state.program_of(cell)]),
            baseline=work.is_attempt_0,
        )
        for cell in cells
        if cell.report is not None and cell.report.score is not None and not cell.rejected
    ]
    values: dict[str, Any] = {"timings": tuple(timings[-_MOST_TIMINGS:])}
    best = state.best_cell
    if best is not None and best.report is not None:
        values["parts"] = best.report.parts
    if work.draft.preparation:
        values["prepared_seconds"] = next(
            (cell.result.seconds for cell in state.opening if _prepares(cell, work) and cell.result),
            None,
        )
    return values


def _prepares(cell: CellRun, work: Code) -> bool:
    """Return whether a cell is the draft's preparation, and ran to its end."""
    ran = cell.result is not None and cell.result.status is CellStatus.OK
    return ran and cell.code == work.draft.preparation


def _timing(cell: CellRun, models: tuple[str, ...], *, baseline: bool) -> CellTiming:
    assert cell.result is not None, "it has ended"
    assert cell.report is not None, "it is scored"
    assert cell.report.score is not None, "it is scored"
    folds = cell.out_of_fold.score if cell.out_of_fold is not None else None
    return CellTiming(
        step=cell.step,
        seconds=round(cell.result.seconds, 1),
        score=cell.report.score.shown,
        out_of_fold=folds.shown if folds is not None else None,
        models=models,
        of_models=seconds_of_models(cell.result.output) if baseline else {},
    )


def seconds_of_models(output: str) -> dict[str, float]:
    """Return the seconds of each model of an ensemble, summed over the targets, from its output."""
    found: dict[str, float] = {}
    for name, number, unit in _LINE_OF_VOTING.findall(output):
        seconds = float(number) * (60 if unit == "min" else 1)
        found[name] = round(found.get(name, 0.0) + seconds, 1)
    return found


def models_of_program(codes: Iterable[str]) -> tuple[str, ...]:
    """Return the models that the cells of a program make, those of the last cell first."""
    return _newest_first(models_of_cells(codes))


def _newest_first(made: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for models in reversed(made) for name in models))[:_MOST_MODELS]


def models_of_cells(codes: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the models that each cell of one interpreter makes, by its calls of libraries' classes.

    Imports of earlier cells count, and the functions and classes that a cell mentions. A model that is
    made in a way that the syntax does not show is missed.
    """
    imported: dict[str, str] = {}
    defined: dict[str, ast.stmt] = {}
    found: list[tuple[str, ...]] = []
    for code in codes:
        tree = parse_or_none(code)
        body = [] if tree is None else tree.body
        if tree is not None:
            imported |= _imports(tree)
        defined |= {each.name: each for each in body if isinstance(each, _DEFINITIONS)}
        run = [each for each in body if not isinstance(each, _DEFINITIONS)]
        found.append(tuple(dict.fromkeys(_made(run, imported, defined))))
    return found


def _imports(tree: ast.Module) -> dict[str, str]:
    """Return the modules and classes that names stand for, such as `lgb: lightgbm`."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                whole = each.name if each.asname else each.name.partition(".")[0]
                found[each.asname or whole] = whole
        elif isinstance(node, ast.ImportFrom) and node.module:
            for each in node.names:
                found[each.asname or each.name] = f"{node.module}.{each.name}"
    return found


def _made(
    run: Sequence[ast.stmt], imported: dict[str, str], defined: dict[str, ast.stmt]
) -> Iterator[str]:
    """Yield the models that statements make, also in what they mention of functions and classes."""
    waiting, seen = list(run), set[str]()
    for statement in waiting:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and node.id in defined and node.id not in seen:
                seen.add(node.id)
                waiting.append(defined[node.id])
            elif isinstance(node, ast.Call):
                root, _, rest = _path(node.func).partition(".")
                if model := _model(".".join(filter(None, (imported.get(root, ""), rest)))):
                    yield model[:_MODEL_NAME]


def _path(function: ast.expr) -> str:
    """Return the dotted name that is called; empty for anything else, and for a name of many parts."""
    attributes: list[str] = []
    while isinstance(function, ast.Attribute) and len(attributes) < _MOST_PARTS:
        attributes.append(function.attr)
        function = function.value
    return ".".join([function.id, *reversed(attributes)]) if isinstance(function, ast.Name) else ""


def _model(called: str) -> str:
    """Return the model that a call such as `lightgbm.LGBMRegressor` makes; empty if it makes none."""
    parts = called.split(".")
    library, name = parts[0], parts[-1]
    if library in _NETS:
        return library
    if library in _LIBRARIES:
        if name in ("train", "cv"):
            return library
        return name if name[:1].isupper() and name not in _NO_MODELS else ""
    if library == "sklearn" and len(parts) > 2 and parts[1] in _MODULES:  # noqa: PLR2004 - module, class
        return name if name[:1].isupper() else ""
    return ""
