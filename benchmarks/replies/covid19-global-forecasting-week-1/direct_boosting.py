# Boosting over pairs of origin and horizon
#
# Every day of the past is an origin, every later day within two weeks its horizon: the increment of the logarithm
# is learnt from level, recent growth, days since the first case and what country and world do.
# Beyond two weeks the forecast goes on with the slope of its end, fading.

# %% Tables by place and day
TARGETS = ["ConfirmedCases", "Fatalities"]
PLACE = ["Country/Region", "Province/State"]


def names(rows):
    return rows[PLACE].fillna("").agg("/".join, axis=1)


places = sorted(names(train).unique())
first = pd.to_datetime(train["Date"]).min()


def spots(rows):
    """Number of the place and of the day of each row."""
    return names(rows).map({name: i for i, name in enumerate(places)}).to_numpy(), (pd.to_datetime(rows["Date"]) - first).dt.days.to_numpy()


where, day = spots(train)
LAST = int(day.max())
logs = np.zeros((len(places), LAST + 1, 2))
logs[where, day] = np.log1p(train[TARGETS].to_numpy())
logs = np.maximum.accumulate(logs, axis=1)
countries = np.array([name.split("/")[0] for name in places])
print(logs.shape, "mean log cases by week:", logs[:, ::7, 0].mean(axis=0).round(2))

# %% Features of an origin, and forecasts that learn from the days before
from sklearn.ensemble import HistGradientBoostingRegressor

LONGEST = 14
chinese = countries == "China"
members = {country: np.flatnonzero(countries == country) for country in set(countries)}


def state(history):
    """Features of all places on the last day of `history`."""
    now = history[:, -1]
    back = [now - history[:, -1 - min(span, history.shape[1] - 1)] for span in (1, 3, 7)]
    cases = np.expm1(history[:, -1, 0])
    rest = np.array([np.log1p(cases[members[country]].sum()) for country in countries])
    since = (history[:, :, 0] > 0).sum(axis=1)
    world = np.log1p(cases[~chinese].sum())
    reached = (cases[~chinese] > 0).mean()
    return np.column_stack([now, *back, rest, since, np.full(len(now), world), np.full(len(now), reached), chinese])


def pairs(history, origins):
    rows, wished, weights = [], [], []
    for origin in origins:
        features = state(history[:, : origin + 1])
        for horizon in range(1, min(LONGEST, history.shape[1] - 1 - origin) + 1):
            rows.append(np.column_stack([features, np.full(len(features), horizon)]))
            wished.append(history[:, origin + horizon] - history[:, origin])
            weights.append(np.full(len(features), 0.9 ** (history.shape[1] - origin - horizon)))
    return np.vstack(rows), np.vstack(wished), np.concatenate(weights)


def forecast(history, ahead):
    origins = range(max(8, history.shape[1] - 26), history.shape[1] - 1)
    rows, wished, weights = pairs(history, origins)
    here = state(history)
    result = np.zeros((len(here), LONGEST, 2))
    for target in (0, 1):
        model = HistGradientBoostingRegressor(
            max_iter=120, learning_rate=0.06, max_leaf_nodes=12, min_samples_leaf=60, l2_regularization=5.0, early_stopping=False, random_state=0,
        ).fit(rows, wished[:, target], sample_weight=weights)
        for horizon in range(LONGEST):
            result[:, horizon, target] = model.predict(np.column_stack([here, np.full(len(here), horizon + 1)]))
    result = np.maximum.accumulate(np.maximum(result, 0), axis=1)
    slope = (result[:, -1] - result[:, -6]) / 5
    further = np.cumsum(0.95 ** np.arange(1, max(ahead - LONGEST, 0) + 1))
    beyond = result[:, -1:] + slope[:, None] * further[None, :, None]
    return history[:, -1:] + np.concatenate([result, beyond], axis=1)[:, :ahead]


def backtest(forecast, cuts=(LAST - 10, LAST - 20)):
    """Forecast ten days from each cut with what was known then; NaN for all other rows of train."""
    result = np.full((len(train), 2), np.nan)
    for cut in cuts:
        rows = (day > cut) & (day <= cut + 10)
        result[rows] = np.expm1(forecast(logs[:, : cut + 1], 10))[where[rows], day[rows] - cut - 1]
    return result


def error(predicted, rows=slice(None)):
    squares = (np.log1p(predicted[rows]) - np.log1p(train[TARGETS].to_numpy()[rows])) ** 2
    return np.sqrt(np.nanmean(squares, axis=0))


def answer(forecast, rows):
    """Predictions for rows of a table: forecasts, or what is known of days that are past."""
    which, when = spots(rows)
    ahead = max(int(when.max()) - LAST, 1)
    whole = np.concatenate([logs, forecast(logs, ahead)], axis=1)
    return np.expm1(whole[which, when])


# %% Backtests, then hand in
held_out = backtest(forecast)
for cut in (LAST - 20, LAST - 10):
    print(f"from day {cut}: rmsle", error(held_out, (day > cut) & (day <= cut + 10)).round(4))
print("mean of both columns:", error(held_out).mean().round(5))
for_validation, for_test = answer(forecast, validation), answer(forecast, test)
print("sums on the last days:", for_validation[spots(validation)[1] == spots(validation)[1].max()].sum(axis=0).round(), for_test[spots(test)[1] == spots(test)[1].max()].sum(axis=0).round())
submit(for_validation, for_test, held_out)
