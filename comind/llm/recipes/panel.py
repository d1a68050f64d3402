# A panel, many series over time: from random moments of the past and what was known then, boosting
# learns how far a series has moved some steps later.
from sklearn.ensemble import HistGradientBoostingRegressor

rows = pd.concat([train.rename(columns=dict(zip(TRAIN_IDS, IDS))), validation, test], ignore_index=True)
past = np.arange(len(rows)) < len(train)
inputs = [c for c in test if [c] != IDS]
texts = rows[inputs].select_dtypes(exclude="number").astype(str)
date = next(c for c in texts if texts[c].str.match(r"\d{4}|\d.*\d{4}").all())
when = pd.to_datetime(texts[date], format="mixed", dayfirst="." in texts[date][0][:3])

# The series are named by the columns that, with the date, tell the rows of train apart.
keys, names = [], [c for c in inputs if c != date and rows[c].dtype.kind != "f"]
while names and rows[past].duplicated([date, *keys]).mean() > 0.001:
    keys.append(min(names, key=lambda name: rows[past].duplicated([date, *keys, name]).sum()))
    names.remove(keys[-1])
line = rows.groupby(keys, dropna=False).ngroup().to_numpy() if keys else np.zeros(len(rows), int)
time = when.rank(method="dense").astype(int).to_numpy() - 1
a_day = time.max() / max((when.max() - when.min()).days, 1)
season = max(1, round(a_day * (7 if a_day > 0.4 else 365)))  # a week or, where steps are long, a year
now = time[past].max()
ahead = np.where(time > now, time - now, np.minimum(time, 1))
reach = min(ahead.max(), max(now // 2, 1))  # how far ahead the past lets us learn

facts = rows[inputs].apply(lambda c: c if c.dtype.kind in "iufb" else pd.factorize(c)[0])
facts[date] = when.dt.dayofyear
facts = np.column_stack([facts, when.dt.dayofweek, when.dt.day, when.dt.hour, line]).astype(float)
draw = np.random.default_rng(SEED)
drawn = draw.choice(np.nonzero(past & (time > now // 4))[0], min(300_000, 30 * len(train)))
steps = np.minimum(draw.integers(1, reach + 1, len(drawn)), time[drawn])


def features(levels, row, ahead):
    """Return what was known some steps before these rows: last level, recent mean, recent moves, more."""

    def at(table, moment):
        return np.where(moment < 0, np.nan, table.to_numpy()[np.maximum(moment, 0), line[row]])

    last, start, cycles = levels.ffill(), time[row] - ahead, -(-ahead // season)
    week, month, quarter = (levels.rolling(season * n, min_periods=1).mean() for n in (1, 4, 12))
    moves = [(last - last.shift(back)) / back for back in (5, 1, 3, 7, 14)]
    x = [at(table, start) for table in (last, month, *moves, week, quarter, (last > 0).cumsum())]
    x += [at(levels, time[row] - season * (cycles + back)) for back in range(4)]
    year_ago = time[row] - round(a_day * 364) + season // 2
    x += [at(week, np.minimum(year_ago, start)), np.minimum(ahead, reach), *facts[row].T]
    typical = [np.nanmean(levels)] * 2 + [0.0] * (len(x) - 2)
    return np.column_stack([np.nan_to_num(column, nan=value) for column, value in zip(x, typical)])


def forecast(target):
    """Return the values of the rows that are asked for: as known, else as predicted."""
    table = np.full((time.max() + 1, line.max() + 1), np.nan)
    table[time[past], line[past]] = rows.loc[past, target]
    moves = np.diff(pd.DataFrame(table).ffill().fillna(0).to_numpy(), axis=0)
    grows = moves.any() and (moves >= 0).all(axis=0).mean() > 0.8  # a count of all there has been
    to, back = (np.log1p, np.expm1) if grows and np.nanmin(table) >= 0 else (FORWARD, BACK)
    levels = pd.DataFrame(to(table))
    unit = levels.abs().mean() + 1e-9  # large and small series move alike
    unit = np.ones(len(unit)) if grows else unit.fillna(unit.mean()).to_numpy()
    levels, base = levels / unit, 0 if grows else 1
    x, y = features(levels, drawn, steps), levels.to_numpy()[time[drawn], line[drawn]]
    loss = "absolute_error" if METRIC in ("mae", "mape", "smape") else "squared_error"
    size = dict(max_leaf_nodes=8, learning_rate=0.05) if grows else dict(max_iter=300)
    model = HistGradientBoostingRegressor(loss=loss, min_samples_leaf=100, random_state=SEED, **size)
    known, weight = ~np.isnan(y), unit[line[drawn]] ** (1 if loss == "absolute_error" else 2)
    model.fit(x[known], (y - x[:, base])[known], weight[known])

    asked, h = np.nonzero(~past)[0], ahead[~past]
    x = features(levels, asked, h)
    moved = model.predict(x)
    if grows:  # further than was learned at the same pace; averaged with a slope that fades
        moved = np.maximum(moved * np.maximum(h / reach, 1) + x[:, 2] * 9 * (1 - 0.9**h), 0) / 2
    found = back((x[:, base] + moved) * unit[line[asked]])
    known = table[time[asked], line[asked]]
    return np.where(np.isnan(known), np.maximum(found, np.nanmin(table)), known)


tables = pd.DataFrame({target: forecast(target) for target in TARGETS})
hand_in([tables[: len(validation)], tables[len(validation) :].reset_index(drop=True)])
