# Damped growth of each place, shrunken to places like it
#
# The growth of the logarithm over the last days, shrunken to the mean growth of places with as many cases,
# fades by a factor each day. Three numbers a target (factor, strength of shrinkage, window) are found on the
# latest backtest, as validation and test are later still.

# %% Tables by place and day
wide = train.pivot_table(index=["Country/Region", "Province/State"], columns="Date", values="ConfirmedCases")
place = {name: number for number, name in enumerate(wide.index)}
where = [place[name] for name in zip(train["Country/Region"], train["Province/State"])]
print(wide.shape, "days:", wide.columns.min(), "to", wide.columns.max())

# %% Fill the missing provinces first
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
print(logs.shape, "| places with cases at the end:", int((logs[:, -1, 0] > 0).sum()), "| days to forecast:", [int(spots(rows)[1].max()) - LAST for rows in (validation, test)])
for size, growth in pd.Series(logs[:, -1, 0] - logs[:, -8, 0]).groupby(pd.cut(logs[:, -8, 0], [-1, 0, 1.5, 3, 5, 12])):
    print(f"log cases a week before the end in {size}: {len(growth)} places, growth of the logarithm in that week {growth.mean():.2f}")

# %% The forecast, and backtests of its settings
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


import itertools

found = {}
for setting in itertools.product((0.9, 0.95, 0.98, 1.0), (0.3, 0.6, 0.8), (4, 7)):
    found[setting] = error(backtest(lambda history, ahead: growing(history, ahead, *setting), cuts=(LAST - 10,)))
chosen = [min(found, key=lambda setting: found[setting][target]) for target in (0, 1)]
still = error(backtest(lambda history, ahead: np.repeat(history[:, -1:], ahead, axis=1), cuts=(LAST - 10,)))
print("last value:", still.round(4), "mean", still.mean().round(4))
for target, setting in zip(TARGETS, chosen):
    print(target, "damping, shrinkage, window:", setting, "rmsle of both", found[setting].round(4))

# %% Hand in, each target with its own setting
def forecast(history, ahead):
    return np.stack([growing(history, ahead, *setting)[:, :, target] for target, setting in enumerate(chosen)], axis=2)


held_out = backtest(forecast)
for cut in (LAST - 20, LAST - 10):
    print(f"from day {cut}: rmsle", error(held_out, (day > cut) & (day <= cut + 10)).round(4))
print("mean of both columns:", error(held_out).mean().round(5))
submit(answer(forecast, validation), answer(forecast, test), held_out)
