# Hourly profiles by ridge regression
#
# An additive model of log(1 + rentals) for casual and registered riders: a profile of 24 hours for each kind of
# day and season, curves of temperature and humidity that depend on the time of day, levels of months.
# Thousands of columns, one penalty; smooth, and unlike trees.

# %% Columns of an additive model
from scipy import sparse
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import OneHotEncoder, SplineTransformer

everyone = pd.concat([train, validation, test], ignore_index=True)
when = pd.to_datetime(everyone["datetime"])
hour = when.dt.hour.astype(str)
kind = np.where(everyone["workingday"] == 1, np.where(when.dt.day_of_week == 4, "friday", "work"),
                np.where(everyone["holiday"] == 1, "holiday", when.dt.day_of_week.astype(str)))
kind = pd.Series(kind)
month = (12 * (when.dt.year - 2011) + when.dt.month).astype(str)
season = everyone["season"].astype(str)
year = when.dt.year.astype(str)
wet = everyone["weather"].clip(upper=3).astype(str)
wet_before = everyone.groupby(when.dt.date)["weather"].shift(1).fillna(everyone["weather"]).clip(upper=3).astype(int).astype(str)
part = pd.cut(when.dt.hour, [-1, 5, 9, 15, 19, 23]).astype(str)
working = everyone["workingday"].astype(str)
words = pd.DataFrame({
    "hour of kind": kind + "/" + hour,
    "hour of season": season + working + "/" + hour,
    "hour of year": year + working + "/" + hour,
    "month": month, "month at work": month + working, "weather": wet + part, "weather before": wet_before + wet,
    "weekday": when.dt.day_of_week.astype(str) + part,
})
curves = SplineTransformer(n_knots=7, degree=3, knots="quantile", extrapolation="constant").fit_transform(
    everyone[["temp", "atemp", "humidity", "windspeed"]]
)
parts = OneHotEncoder().fit_transform(pd.DataFrame({"part": part + working}))
table = sparse.hstack(
    [OneHotEncoder(min_frequency=4, handle_unknown="infrequent_if_exist").fit_transform(words), sparse.csr_matrix(curves)]
    + [parts[:, [column]].multiply(curves) for column in range(parts.shape[1])]
).tocsr()
target = np.log1p(train["count"].to_numpy())
days = when[: len(train)].dt.date
print(table.shape, "days:", days.nunique())

# %% The penalty on folds of whole days
from sklearn.linear_model import Ridge

n = len(train)
folds = list(GroupKFold(5, shuffle=True, random_state=0).split(table[:n], groups=days))


def riders(penalty, learn, wanted):
    """Rentals as the sum of both kinds of riders."""
    return sum(
        np.maximum(np.expm1(Ridge(penalty, solver="lsqr", tol=1e-5).fit(table[learn], np.log1p(train[name].to_numpy()[learn])).predict(table[wanted])), 0)
        for name in ("casual", "registered")
    )


def error(predicted):
    return float(np.sqrt(np.mean((np.log1p(predicted) - target) ** 2)))


tried = {}
for penalty in (0.3, 1.0, 3.0, 8.0):
    tried[penalty] = np.zeros(n)
    for learn, held in folds:
        tried[penalty][held] = riders(penalty, learn, held)
    print(f"penalty {penalty}: rmsle {error(tried[penalty]):.5f}")

# %% Hand in
penalty = min(tried, key=lambda each: error(tried[each]))
predicted = riders(penalty, np.arange(n), np.arange(n, len(everyone)))
by_hour = pd.Series((np.log1p(tried[penalty]) - target) ** 2).groupby(when[:n].dt.hour).mean() ** 0.5
print(f"penalty {penalty}; error by hour: {by_hour.round(2).to_dict()}")
submit(predicted[: len(validation)], predicted[len(validation):], tried[penalty])
