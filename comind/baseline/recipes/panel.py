"""Panel data, many time series: gradient boosting predicts the change of a series over a horizon.

It is fitted on random past moments and what was known at them, at all horizons that the requested rows
have, so one model serves all steps.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor

from comind.baseline.recipes.answers import SCALES
from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task


def predict(task: Task, tables: Tables) -> list[pd.DataFrame]:
    """Return a table of target columns for validation and for test."""
    panel = make_panel(task, tables)
    draw = np.random.default_rng(task.seed)
    old_enough = np.nonzero(panel.past & (panel.time > panel.last_labelled // 4))[0]
    drawn = draw.choice(old_enough, min(300_000, 30 * len(tables.train)))
    steps = np.minimum(draw.integers(1, panel.longest_horizon + 1, len(drawn)), panel.time[drawn])
    found = {target: forecast(task, panel, target, drawn, steps) for target in task.target_columns}
    table, held_back = pd.DataFrame(found), len(tables.validation)
    return [table[:held_back], table[held_back:].reset_index(drop=True)]


@dataclass(frozen=True)
class Panel:
    """The rows of all tables, each with its position on a grid of moments and series."""

    rows: pd.DataFrame
    past: NDArray[Any]  # mask of the rows of train
    time: NDArray[Any]  # index of the moment
    series: NDArray[Any]  # index of the series
    known_features: NDArray[Any]  # features known in advance
    moments_a_day: float

    @property
    def season(self) -> int:
        """Number of moments per week or, where steps are long, per year."""
        return max(1, round(self.moments_a_day * (7 if self.moments_a_day > 0.4 else 365)))

    @property
    def last_labelled(self) -> int:
        """The last moment in train."""
        return int(self.time[self.past].max())

    @property
    def horizon(self) -> NDArray[Any]:
        """Horizon of each row: moments after the last one in train."""
        return np.where(
            self.time > self.last_labelled, self.time - self.last_labelled, np.minimum(self.time, 1)
        )

    @property
    def longest_horizon(self) -> int:
        """Longest horizon that train can provide examples for."""
        return int(min(self.horizon.max(), max(self.last_labelled // 2, 1)))


def make_panel(task: Task, tables: Tables) -> Panel:
    """Place the rows of all tables on a grid of moments and series."""
    train, validation, test = tables
    names = dict(zip(task.train_id_columns, task.id_columns, strict=True))
    rows = pd.concat([train.rename(columns=names), validation, test], ignore_index=True)
    past = np.arange(len(rows)) < len(train)
    others = [column for column in test.columns if [column] != task.id_columns]
    texts = rows[[*others, *task.id_columns]].select_dtypes(exclude="number").astype(str)
    date = next(column for column in texts.columns if texts[column].str.match(r"\d{4}|\d.*\d{4}").all())
    inputs = list(dict.fromkeys([*others, date]))  # a date may be the id
    when = pd.to_datetime(texts[date], format="mixed", dayfirst="." in texts[date][0][:3])
    keys = series_keys(rows[past], date, inputs)
    series = rows.groupby(keys, dropna=False).ngroup().to_numpy() if keys else np.zeros(len(rows), int)
    time = when.rank(method="dense").astype(int).to_numpy() - 1
    known_features = rows[inputs].apply(
        lambda cells: cells if cells.dtype.kind in "iufb" else pd.factorize(cells)[0]
    )
    known_features[date] = when.dt.day_of_year
    known = np.column_stack(
        [known_features, when.dt.day_of_week, when.dt.day, when.dt.hour, series]
    ).astype(float)
    return Panel(rows, past, time, series, known, time.max() / max((when.max() - when.min()).days, 1))


def series_keys(train: pd.DataFrame, date: str, inputs: list[str]) -> list[str]:
    """Return the columns that identify a series: with the date they identify rows of train."""
    keys: list[str] = []
    names = [column for column in inputs if column != date and train[column].dtype.kind != "f"]
    while names and train.duplicated([date, *keys]).mean() > 0.001:
        keys.append(min(names, key=lambda name: train.duplicated([date, *keys, name]).sum()))
        names.remove(keys[-1])
    return keys


def features(
    panel: Panel, levels: pd.DataFrame, row: NDArray[Any], horizon: NDArray[Any]
) -> NDArray[Any]:
    """Return lagged features of rows: last level, rolling means, recent changes, seasonal lags."""
    time, series, season = panel.time[row], panel.series[row], panel.season

    def at(table: pd.DataFrame, moment: NDArray[Any]) -> NDArray[Any]:
        return np.where(moment < 0, np.nan, table.to_numpy()[np.maximum(moment, 0), series])

    last, start, cycles = levels.ffill(), time - horizon, -(-horizon // season)
    week, month, quarter = (levels.rolling(season * n, min_periods=1).mean() for n in (1, 4, 12))
    moves = [(last - last.shift(back)) / back for back in (5, 1, 3, 7, 14)]
    x = [at(table, start) for table in (last, month, *moves, week, quarter, (last > 0).cumsum())]
    x += [at(levels, time - season * (cycles + back)) for back in range(4)]
    year_ago = time - round(panel.moments_a_day * 364) + season // 2
    x += [
        at(week, np.minimum(year_ago, start)),
        np.minimum(horizon, panel.longest_horizon),
        *panel.known_features[row].T,
    ]
    typical = [float(np.nanmean(levels))] * 2 + [0.0] * (len(x) - 2)
    return np.column_stack(
        [np.nan_to_num(cells, nan=value) for cells, value in zip(x, typical, strict=True)]
    )


def forecast(
    task: Task, panel: Panel, target: str, drawn: NDArray[Any], steps: NDArray[Any]
) -> NDArray[Any]:
    """Return the values of the requested rows: known ones as they are, else predicted."""
    time, series, past = panel.time, panel.series, panel.past
    table = np.full((time.max() + 1, series.max() + 1), np.nan)
    table[time[past], series[past]] = panel.rows.loc[past, target]
    moves = np.diff(pd.DataFrame(table).ffill().fillna(0).to_numpy(), axis=0)
    grows = bool(moves.any() and (moves >= 0).all(axis=0).mean() > 0.8)  # a cumulative count
    to, back = SCALES["log1p" if grows and np.nanmin(table) >= 0 else task.scale]
    known = pd.DataFrame(to(table))
    usual = known.abs().mean() + 1e-9  # scale of each series
    unit = np.ones(len(usual)) if grows else usual.fillna(usual.mean()).to_numpy()
    levels = known.div(unit, axis="columns")
    base = 0 if grows else 1
    x, y = features(panel, levels, drawn, steps), levels.to_numpy()[time[drawn], series[drawn]]
    loss = task.loss
    size = {"max_leaf_nodes": 8, "learning_rate": 0.05} if grows else {"max_iter": 300}
    model = HistGradientBoostingRegressor(
        loss=loss, min_samples_leaf=100, random_state=task.seed, **size
    )
    labelled, weight = ~np.isnan(y), unit[series[drawn]] ** (1 if loss == "absolute_error" else 2)
    model.fit(x[labelled], (y - x[:, base])[labelled], weight[labelled])

    asked, horizon = np.nonzero(~past)[0], panel.horizon[~past]
    x = features(panel, levels, asked, horizon)
    moved = model.predict(x)
    if grows:  # extrapolate at the same rate; average with a damped slope
        same_pace = moved * np.maximum(horizon / panel.longest_horizon, 1)
        moved = np.maximum(same_pace + x[:, 2] * 9 * (1 - 0.9**horizon), 0) / 2
    found = back((x[:, base] + moved) * unit[series[asked]])
    seen = table[time[asked], series[asked]]
    values: NDArray[Any] = np.where(np.isnan(seen), np.maximum(found, np.nanmin(table)), seen)
    return values
