# Damped growth and boosting, averaged in logs by horizon
#
# Builds on damped_growth: its forecast of each place (settings from the latest backtest) is averaged with the direct
# boosting over pairs of origin and horizon. One weight a target, found on the latest backtest and drawn to a half.

# %% Tables by place and day, and the damped growth
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


def growing(history, ahead, damping, shrinkage, window):
    """Forecast logs for `ahead` days: damped growth, shrunken to the mean of places with as many cases."""
    now, past = history[:, -1], history[:, max(history.shape[1] - 1 - window, 0)]
    rate = (now - past) / min(window, history.shape[1] - 1)
    group = np.digitize(now[:, 0], [0.5, 1.5, 3.0, 5.0])
    shared = np.zeros_like(rate)
    for each in np.unique(group):
        shared[group == each] = rate[group == each].mean(axis=0)
    chinese = countries == "China"
    shared[chinese] = rate[chinese].mean(axis=0)
    rate = (1 - shrinkage) * rate + shrinkage * shared
    days = np.arange(1, ahead + 1)
    steps = np.cumsum(damping ** days * 0.92 ** np.maximum(days - 10, 0))  # no growth lasts: beyond the backtests it fades
    return now[:, None] + np.maximum(rate, 0)[:, None] * np.reshape(steps, (1, -1, 1))


print(logs.shape, "| places with cases at the end:", int((logs[:, -1, 0] > 0).sum()))

# %% The direct boosting
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


def boosted(history, ahead):
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


print("pairs to learn from:", len(pairs(logs, range(LAST - 26, LAST))[0]))

# %% Settings and weights from the latest backtest
import itertools

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


LATE = (LAST - 10,)
found = {}
for setting in itertools.product((0.9, 0.95, 0.98, 1.0), (0.3, 0.6, 0.8), (4, 7)):
    found[setting] = error(backtest(lambda history, ahead: growing(history, ahead, *setting), LATE))
chosen = [min(found, key=lambda setting: found[setting][target]) for target in (0, 1)]


def damped(history, ahead):
    return np.stack([growing(history, ahead, *setting)[:, :, target] for target, setting in enumerate(chosen)], axis=2)


parts = [np.log1p(backtest(forecast)) for forecast in (damped, boosted)]
late = (day > LAST - 10)
truth = np.log1p(train[TARGETS].to_numpy())
shares = []
for target in (0, 1):
    apart = parts[0][late, target] - parts[1][late, target]
    best = ((truth[late, target] - parts[1][late, target]) * apart).sum() / (apart ** 2).sum()
    shares.append(float(np.clip((best + 0.5) / 2, 0.1, 0.9)))
    print(TARGETS[target], "setting", chosen[target], f"best share of growth {best:.2f}, taken {shares[-1]:.2f}")
held_out = np.expm1(np.array(shares) * parts[0] + (1 - np.array(shares)) * parts[1])
for name, predicted in zip(("damped", "boosted", "both"), (*map(np.expm1, parts), held_out)):
    print(name, "latest backtest", error(predicted, late).round(4), "both backtests", error(predicted).round(4))

# %% Hand in
def forecast(history, ahead):
    return np.array(shares) * damped(history, ahead) + (1 - np.array(shares)) * boosted(history, ahead)


submit(answer(forecast, validation), answer(forecast, test), held_out, final=True)
