# A small net with embeddings of hour, weekday and month
#
# Embeddings of calendar fields and scaled weather go through two hidden layers to the logarithms of casual and
# registered riders; the loss is the squared error of the logarithm of their sum, with the parts beside it.
# Three seeds are averaged.

# %% Numbers and codes
import time

import torch
from sklearn.model_selection import GroupKFold

torch.set_num_threads(1)  # the layers are too small to share
everyone = pd.concat([train, validation, test], ignore_index=True)
when = pd.to_datetime(everyone["datetime"])
days = when.dt.date
hour = when.dt.hour
month = 12 * (when.dt.year - 2011) + when.dt.month - 1
codes = np.column_stack([
    hour + 24 * everyone["workingday"], when.dt.day_of_week, month, everyone["weather"].clip(upper=3) - 1, hour + 24 * (everyone["season"] - 1),
]).astype(np.int64)
weather = everyone[["temp", "atemp", "humidity", "windspeed"]]
by_day = everyone.groupby(days)
extra = pd.DataFrame({
    "mean_temp": by_day["temp"].transform("mean"), "mean_humidity": by_day["humidity"].transform("mean"),
    "worst": by_day["weather"].transform("max"), "before": by_day["weather"].shift(1).fillna(1), "after": by_day["weather"].shift(-1).fillna(1),
})
numbers = pd.concat([weather, extra], axis=1)
numbers = ((numbers - numbers.mean()) / numbers.std()).assign(
    holiday=everyone["holiday"], working=everyone["workingday"],
    sine=np.sin(2 * np.pi * hour / 24), cosine=np.cos(2 * np.pi * hour / 24),
    year_sine=np.sin(2 * np.pi * when.dt.day_of_year / 365), year_cosine=np.cos(2 * np.pi * when.dt.day_of_year / 365),
)
codes = torch.tensor(codes)
numbers = torch.tensor(numbers.to_numpy(), dtype=torch.float32)
n = len(train)
parts = torch.tensor(np.log1p(train[["casual", "registered"]].to_numpy()), dtype=torch.float32)
target = np.log1p(train["count"].to_numpy())
print(numbers.shape, codes.shape, "values of codes:", (codes.max(dim=0).values + 1).tolist())

# %% The net, and the time that one fold takes
WIDTHS = (12, 4, 6, 2, 8)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = torch.nn.ModuleList(torch.nn.Embedding(int(codes[:, i].max()) + 1, width) for i, width in enumerate(WIDTHS))
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(sum(WIDTHS) + numbers.shape[1], 128), torch.nn.SiLU(), torch.nn.Dropout(0.1),
            torch.nn.Linear(128, 64), torch.nn.SiLU(), torch.nn.Linear(64, 2),
        )

    def forward(self, codes, numbers):
        embedded = [table(codes[:, i]) for i, table in enumerate(self.tables)]
        return self.layers(torch.cat([*embedded, numbers], dim=1)) + 3.0


def total(logs):
    return torch.log1p(torch.expm1(logs.clamp(0, 8)).sum(dim=1))


def fit_and_predict(learn, wanted, seed, epochs=20):
    torch.manual_seed(seed)
    order = torch.Generator().manual_seed(seed)
    net = Net()
    steps = epochs * -(-len(learn) // 256)
    optimizer = torch.optim.AdamW(net.parameters(), lr=6e-3, weight_decay=0.03)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, total_steps=steps)
    learn = torch.as_tensor(learn)
    for _ in range(epochs):
        for rows in learn[torch.randperm(len(learn), generator=order)].split(256):
            logs = net(codes[rows], numbers[rows])
            loss = ((total(logs) - total(parts[rows])) ** 2).mean() + 0.3 * ((logs - parts[rows]) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    net.eval()
    with torch.no_grad():
        return np.expm1(total(net(codes[wanted], numbers[wanted])).numpy())


folds = list(GroupKFold(5, shuffle=True, random_state=0).split(numbers[:n], groups=days[:n]))
start = time.monotonic()
held = folds[0][1]
print("rmsle of one fold:", np.sqrt(np.mean((np.log1p(fit_and_predict(*folds[0], seed=0)) - target[held]) ** 2)).round(4))
print(f"{time.monotonic() - start:.1f} s a fit")

# %% Folds and three seeds, then hand in
held_out = np.zeros(n)
for learn, held in folds:
    held_out[held] = np.mean([fit_and_predict(learn, held, seed) for seed in (0, 1)], axis=0)
print(f"out-of-fold rmsle {np.sqrt(np.mean((np.log1p(held_out) - target) ** 2)):.5f}")
rest = np.arange(n, len(everyone))
predicted = np.mean([fit_and_predict(np.arange(n), rest, seed) for seed in (0, 1, 2)], axis=0)
submit(predicted[: len(validation)], predicted[len(validation):], held_out)
