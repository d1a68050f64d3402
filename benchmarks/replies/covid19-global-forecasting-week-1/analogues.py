# What followed elsewhere: nearest neighbours of growth
#
# For each place the most similar moments of the past (level, growth over 2, 5 and 9 days) of all places are found,
# and the weighted mean of what followed there is the forecast; beyond what the past can tell it goes on with a fading slope.

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
print(logs.shape, "moments:", len(places) * LAST)

# %% Neighbours among moments of the past
from sklearn.neighbors import NearestNeighbors

chinese = countries == "China"


def moment(history):
    """What describes the places on the last day of `history`: level and growth, scaled."""
    now = history[:, -1, 0]
    back = [now - history[:, -1 - min(span, history.shape[1] - 1), 0] for span in (2, 5, 9)]
    return np.column_stack([0.6 * now, *(1.5 * each for each in back), 0.5 * history[:, -1, 1], 1.5 * chinese])


def forecast(history, ahead, neighbours=40, longest=10):
    origins = range(max(6, history.shape[1] - 1 - 25), history.shape[1] - longest)
    past = np.vstack([moment(history[:, : origin + 1]) for origin in origins])
    followed = np.vstack([history[:, origin + 1 : origin + 1 + longest] - history[:, origin : origin + 1] for origin in origins])
    age = np.repeat([history.shape[1] - 1 - longest - origin for origin in origins], len(history))
    apart, nearest = NearestNeighbors(n_neighbors=min(8 * neighbours, len(past))).fit(past).kneighbors(moment(history))
    weights = np.exp(-apart / 0.4) * 0.85 ** age[nearest] + 1e-12
    weights /= weights.sum(axis=1, keepdims=True)
    result = np.einsum("pn,pndk->pdk", weights, followed[nearest])
    slope = (result[:, -1] - result[:, -5]) / 4
    further = np.cumsum(0.96 ** np.arange(1, max(ahead - longest, 0) + 1))
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


for neighbours in (10, 20, 40, 80):
    found = error(backtest(lambda history, ahead: forecast(history, ahead, neighbours)))
    print(f"{neighbours} neighbours: rmsle {found.round(4)}, mean {found.mean():.4f}")

# %% Hand in
held_out = backtest(forecast)
for cut in (LAST - 20, LAST - 10):
    print(f"from day {cut}: rmsle", error(held_out, (day > cut) & (day <= cut + 10)).round(4))
submit(answer(forecast, validation), answer(forecast, test), held_out)
