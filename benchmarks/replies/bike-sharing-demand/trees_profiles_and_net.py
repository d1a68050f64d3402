# Trees, profiles and a net, averaged in logs
#
# Builds on boosting_by_rider: its two models of casual and registered riders, the additive profiles by ridge
# regression and the small net with embeddings are predicted on the same folds of whole days;
# the average in logs takes weights that are fitted on other folds than those that they are told on.

# %% Features of the three kinds
import torch
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import OneHotEncoder, SplineTransformer

torch.set_num_threads(1)
everyone = pd.concat([train, validation, test], ignore_index=True)
n = len(train)
when = pd.to_datetime(everyone["datetime"])
days, hour, weekday = when.dt.date, when.dt.hour, when.dt.day_of_week
running = 12 * (when.dt.year - 2011) + when.dt.month
by_day = everyone.groupby(days)
WEATHER = ["temp", "atemp", "humidity", "windspeed"]
trees = everyone[["season", "holiday", "workingday", "weather", *WEATHER]].assign(
    hour=hour, weekday=weekday, month=running, of_year=when.dt.month, clock=hour + 24 * everyone["workingday"],
    worst=by_day["weather"].transform("max"),
    before=by_day["weather"].shift(1).fillna(everyone["weather"]), after=by_day["weather"].shift(-1).fillna(everyone["weather"]),
    day_temp=by_day["temp"].transform("mean"), day_humidity=by_day["humidity"].transform("mean"), day_wind=by_day["windspeed"].transform("mean"),
)
working = everyone["workingday"].astype(str)
kind = pd.Series(np.where(everyone["workingday"] == 1, np.where(weekday == 4, "friday", "work"), np.where(everyone["holiday"] == 1, "holiday", weekday.astype(str))))
part = pd.cut(hour, [-1, 5, 9, 15, 19, 23]).astype(str)
wet = everyone["weather"].clip(upper=3).astype(str)
words = pd.DataFrame({
    "kind": kind + "/" + hour.astype(str), "season": everyone["season"].astype(str) + working + "/" + hour.astype(str),
    "year": when.dt.year.astype(str) + working + "/" + hour.astype(str), "month": running.astype(str), "at work": running.astype(str) + working,
    "wet": wet + part, "before": wet + trees["before"].clip(upper=3).astype(int).astype(str), "weekday": weekday.astype(str) + part,
})
curves = SplineTransformer(n_knots=7, degree=3, knots="quantile", extrapolation="constant").fit_transform(everyone[WEATHER])
parts_of_day = OneHotEncoder().fit_transform(pd.DataFrame({"part": part + working}))
additive = sparse.hstack(
    [OneHotEncoder(min_frequency=4, handle_unknown="infrequent_if_exist").fit_transform(words), sparse.csr_matrix(curves)]
    + [parts_of_day[:, [column]].multiply(curves) for column in range(parts_of_day.shape[1])]
).tocsr()
codes = torch.tensor(np.column_stack([
    trees["clock"], weekday, running - 1, everyone["weather"].clip(upper=3) - 1, hour + 24 * (everyone["season"] - 1),
]).astype(np.int64))
scaled = trees[[*WEATHER, "day_temp", "day_humidity", "worst", "before", "after"]]
scaled = ((scaled - scaled.mean()) / scaled.std()).assign(
    holiday=everyone["holiday"], working=everyone["workingday"], sine=np.sin(hour * np.pi / 12), cosine=np.cos(hour * np.pi / 12),
    year_sine=np.sin(2 * np.pi * when.dt.day_of_year / 365), year_cosine=np.cos(2 * np.pi * when.dt.day_of_year / 365),
)
numbers = torch.tensor(scaled.to_numpy(), dtype=torch.float32)
riders = np.log1p(train[["casual", "registered"]].to_numpy())
target = np.log1p(train["count"].to_numpy())
folds = list(GroupKFold(5, shuffle=True, random_state=0).split(additive[:n], groups=days[:n]))
print(trees.shape, additive.shape, numbers.shape)

# %% The three kinds of model; each answers with log(1 + count)
WIDTHS = (12, 4, 6, 2, 8)


def joined(logs):
    return np.log1p(np.maximum(np.expm1(logs), 0).sum(axis=1))


def by_trees(learn, wanted):
    def model(number):
        return HistGradientBoostingRegressor(
            max_iter=600, learning_rate=0.06, max_leaf_nodes=12, min_samples_leaf=15, l2_regularization=2.0,
            max_features=0.6, early_stopping=False, random_state=number,
        ).fit(trees.iloc[learn], riders[learn, number])

    return joined(np.column_stack([model(number).predict(trees.iloc[wanted]) for number in (0, 1)]))


def by_profiles(learn, wanted):
    return joined(Ridge(8.0, solver="lsqr", tol=1e-5).fit(additive[learn], riders[learn]).predict(additive[wanted]))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = torch.nn.ModuleList(torch.nn.Embedding(int(codes[:, i].max()) + 1, width) for i, width in enumerate(WIDTHS))
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(sum(WIDTHS) + numbers.shape[1], 128), torch.nn.SiLU(), torch.nn.Dropout(0.1),
            torch.nn.Linear(128, 64), torch.nn.SiLU(), torch.nn.Linear(64, 2),
        )

    def forward(self, rows):
        return self.layers(torch.cat([*(table(codes[rows, i]) for i, table in enumerate(self.tables)), numbers[rows]], dim=1)) + 3.0


def by_net(learn, wanted, seeds=(0, 1), epochs=20):
    answers = []
    for seed in seeds:
        torch.manual_seed(seed)
        order = torch.Generator().manual_seed(seed)
        net, rows = Net(), torch.as_tensor(learn)
        told = torch.tensor(riders[learn], dtype=torch.float32)
        optimizer = torch.optim.AdamW(net.parameters(), lr=6e-3, weight_decay=0.03)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, total_steps=epochs * -(-len(rows) // 256))
        for _ in range(epochs):
            for batch in torch.randperm(len(rows), generator=order).split(256):
                logs, wished = net(rows[batch]), told[batch]
                sums = [torch.log1p(torch.expm1(each.clamp(0, 8)).sum(dim=1)) for each in (logs, wished)]
                loss = ((sums[0] - sums[1]) ** 2).mean() + 0.3 * ((logs - wished) ** 2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
        net.eval()
        with torch.no_grad():
            answers.append(joined(net(torch.as_tensor(wanted)).clamp(0, 8).numpy()))
    return np.mean(answers, axis=0)


KINDS = {"trees": by_trees, "profiles": by_profiles, "net": by_net}


def error(logs):
    return float(np.sqrt(np.mean((logs - target) ** 2)))


held_out = np.zeros((n, 3))
for learn, held in folds:
    for number, predict in enumerate(KINDS.values()):
        held_out[held, number] = predict(learn, held)
print({kind: round(error(held_out[:, number]), 5) for number, kind in enumerate(KINDS)}, "equal:", round(error(held_out.mean(axis=1)), 5))
print("correlation of errors:", np.corrcoef((held_out - target[:, None]).T).round(2).tolist())

# %% Weights told on other folds, then hand in
from scipy.optimize import nnls


def weights(rows):
    found = nnls(held_out[rows], target[rows])[0]
    return found / found.sum()


stacked = np.zeros(n)
for learn, held in folds:
    stacked[held] = held_out[held] @ weights(learn)
shares = weights(np.arange(n))
print(dict(zip(KINDS, shares.round(2).tolist())), f"out-of-fold rmsle {error(stacked):.5f}")
rest = np.arange(n, len(everyone))
answer = np.expm1(np.column_stack([predict(np.arange(n), rest) for predict in KINDS.values()]) @ shares)
submit(answer[: len(validation)], answer[len(validation):], np.expm1(stacked), final=True)
