"""Metrics that are functions (truth, prediction) -> number, of a package or of a competition's file."""

import time
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from comind.domain.competition import MetricFunction
from comind.domain.metric import MetricTraits
from comind.domain.problem import AnswerKind
from comind.errors import CompetitionError
from comind.metrics.metric_types import PLAIN, Metric, Parse, Statistic
from comind.metrics.parsing import number_parser, parse_labels, parse_text

_FILE = ".py:"
_DRAWS = (1000, 200, 50)
"""Numbers of draws of an interval: the first for which about `_SECONDS` suffice, else the last."""
_SECONDS = 10.0
_PARSERS: dict[str, tuple[AnswerKind, Parse, MetricTraits]] = {
    "labels": (AnswerKind.LABEL, parse_labels, MetricTraits(means=("vote",))),
    "probabilities": (AnswerKind.PROBABILITY, number_parser(at_least=0, at_most=1), PLAIN),
    "numbers": (AnswerKind.NUMBER, number_parser(), PLAIN),
    "texts": (AnswerKind.TEXT, parse_text, PLAIN),
    "ranks": (AnswerKind.NUMBER, number_parser(), MetricTraits(ranking=True, means=("rank", "mean"))),
}

Function = Callable[[np.ndarray, np.ndarray], Any]
"""Takes arrays of shape (rows,), or (rows, targets) of several target columns."""


@dataclass(frozen=True, slots=True)
class FunctionMetric(Metric):
    """A metric that is a function of all rows; its intervals have fewer draws where it is slow."""

    function: Function
    _: KW_ONLY
    sources: dict[str, str] = field(default_factory=dict)
    """The text of its file by name, if it is a competition's own; sealed with the split."""

    def statistic(self, truth: pd.DataFrame, prediction: pd.DataFrame) -> Statistic:
        """Return a function of row positions that calls the metric's function.

        Raises:
            ValueError: the function fails, or returns no number; its own message may show true values,
                and agents read ours, so it is the cause and not part of the message.
        """
        true, predicted = _arrays(truth, prediction)

        def statistic(draw: np.ndarray) -> float:
            try:
                return float(self.function(true[draw], predicted[draw]))
            except Exception as error:  # a user's function fails in any way
                raise ValueError(f"{self.name} fails on it ({type(error).__name__})") from error

        return statistic

    def score_draws(
        self, truth: pd.DataFrame, prediction: pd.DataFrame, draws: Iterable[np.ndarray]
    ) -> np.ndarray:
        """Return the value over the first draws, as many as there is time for; NaN if undefined."""
        statistic = self.statistic(truth, prediction)
        begun = time.perf_counter()
        try:
            statistic(np.arange(len(truth)))
        except ValueError:
            return np.array([])
        most = (time.perf_counter() - begun) * np.array(_DRAWS)
        count = next(
            (each for each, seconds in zip(_DRAWS, most, strict=True) if seconds <= _SECONDS), _DRAWS[-1]
        )
        values = []
        for draw, _ in zip(draws, range(count), strict=False):
            try:
                values.append(statistic(draw))
            except ValueError:
                values.append(np.nan)
        return np.array(values, dtype=float)


def function_metric(function: MetricFunction, folder: Path) -> FunctionMetric:
    """Return the metric of a function, named as in competition.yaml.

    Args:
        function: its name is `file.py:name`, or that of a function in an installed package.
        folder: has the file.

    Raises:
        CompetitionError: there is no such file or function, or it cannot be loaded.
    """
    answer_kind, parse, traits = _PARSERS[function.needs]
    loaded, sources = _load(function.function, folder)
    return FunctionMetric(
        function.function,
        f"the function {function.function}",
        loaded,
        maximize=function.maximize,
        answer_kind=answer_kind,
        parse=parse,
        traits=traits,
        sources=sources,
    )


def check_function(metric: FunctionMetric, truth: pd.DataFrame) -> None:
    """Check on labels of train.csv that the function returns finite numbers, the better for the truth.

    Raises:
        ValueError: it fails, or its direction is another.
    """
    try:
        value = metric.score(truth, truth)
    except ValueError as error:
        reason = _first_line(error.__cause__ or error)
        raise ValueError(f"the metric's function {metric.name} fails: {reason}") from None
    if not np.isfinite(value):
        raise ValueError(f"the metric's function {metric.name} returns {value} for the truth itself")
    moved = truth.iloc[np.roll(np.arange(len(truth)), 1)].set_axis(truth.index)
    other = metric.score(truth, moved)
    if other > value if metric.maximize else other < value:
        raise ValueError(
            f"the metric's function {metric.name} returns {other:g} for labels of other rows, which is "
            f"better than {value:g} for the true ones; `maximize` may have to be "
            f"{str(not metric.maximize).lower()}"
        )


def _load(name: str, folder: Path) -> tuple[Function, dict[str, str]]:
    """Return a function by its name, and its source if it is in a file."""
    module, sources = _file(name, folder) if _FILE in name else (_package(name), {})
    function = getattr(module, name.replace(":", ".").rpartition(".")[2], None)
    if not callable(function):
        raise CompetitionError(
            f"{folder}: metric: there is no function {name!r}",
            hint="name it as file.py:function, or as package.module.function",
        )
    return function, sources


def _file(name: str, folder: Path) -> tuple[ModuleType, dict[str, str]]:
    file = name.rpartition(":")[0]
    where = f"{folder / file}"
    try:
        source = (folder / file).read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise CompetitionError(
            f"{where}: there is no such file",
            hint="the file of a metric is named from the folder of competition.yaml",
        ) from None
    module = ModuleType("metric")
    module.__file__ = where
    try:
        exec(compile(source, where, "exec"), module.__dict__)  # noqa: S102 - the user's own metric
    except (Exception, SystemExit) as error:  # noqa: BLE001 - it fails in any way
        raise CompetitionError(f"{where}: cannot be loaded: {_first_line(error)}") from None
    return module, {file: source}


def _package(name: str) -> object:
    package = name.rpartition(".")[0]
    try:
        return import_module(package)
    except (ImportError, ValueError):
        raise CompetitionError(
            f"metric: the package {package!r} of {name!r} is not installed",
            hint="name the function as file.py:function, or as package.module.function",
        ) from None


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _arrays(truth: pd.DataFrame, prediction: pd.DataFrame) -> list[np.ndarray]:
    """Return both tables as arrays; labels are numbers where all of both are."""
    both = [table.to_numpy() for table in (truth, prediction)]
    if both[0].dtype == object:
        numbers = [pd.to_numeric(each.ravel(), errors="coerce") for each in both]
        if all(np.isfinite(each).all() for each in numbers):
            whole = all((each % 1 == 0).all() for each in numbers)
            shaped = zip(numbers, both, strict=True)
            both = [each.reshape(old.shape).astype(int if whole else float) for each, old in shaped]
    return [each[:, 0] if each.shape[1] == 1 else each for each in both]
