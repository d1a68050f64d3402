# Non-negative stack of lines, boosting and kernels
#
# Builds on boosting_and_trees and adds the two kinds that err differently: elastic net and lasso on logged columns and a
# support vector machine with a wide kernel. All are predicted out of fold on the same five folds in logs,
# and non-negative weights that are drawn towards equal ones combine them.

# %% One table of numbers and one-hot kinds for lines and kernels, one with codes for trees
QUALITY = {"Po": 1, "Fa": 2, "TA": 3, "Gd": 4, "Ex": 5}
BASEMENT = {"Unf": 1, "LwQ": 2, "Rec": 3, "BLQ": 4, "ALQ": 5, "GLQ": 6}
houses = pd.concat([train.drop(columns="SalePrice"), validation, test], keys=["train", "validation", "test"]).drop(columns="Id")
houses["MSSubClass"] = houses["MSSubClass"].astype(str)
words = [name for name in houses if houses[name].dropna().isin(QUALITY).all()]
houses[words] = houses[words].apply(lambda column: column.map(QUALITY)).fillna(0).astype(float)
houses["BsmtExposure"] = houses["BsmtExposure"].map({"No": 1, "Mn": 2, "Av": 3, "Gd": 4}).fillna(0)
for name in ("BsmtFinType1", "BsmtFinType2"):
    houses[name] = houses[name].map(BASEMENT).fillna(0)
frontage = houses["LotFrontage"].fillna(houses.groupby("Neighborhood")["LotFrontage"].transform("median"))
houses["LotFrontage"] = frontage.fillna(frontage.median())
houses["GarageYrBlt"] = houses["GarageYrBlt"].fillna(houses["YearBuilt"]).clip(upper=2011)
kinds = [name for name in houses if houses[name].dtype.kind not in "if"]
houses[kinds] = houses[kinds].fillna("none").astype(str)
houses = houses.fillna(0)
houses["area"] = houses["TotalBsmtSF"] + houses["1stFlrSF"] + houses["2ndFlrSF"]
houses["baths"] = houses["FullBath"] + houses["BsmtFullBath"] + 0.5 * (houses["HalfBath"] + houses["BsmtHalfBath"])
houses["porches"] = houses[["OpenPorchSF", "EnclosedPorch", "3SsnPorch", "ScreenPorch", "WoodDeckSF"]].sum(axis=1)
houses["age"] = (houses["YrSold"] - houses["YearBuilt"]).clip(lower=0)
houses["renewed"] = (houses["YrSold"] - houses["YearRemodAdd"]).clip(lower=0)
houses["looks"] = houses[["OverallQual", "ExterQual", "KitchenQual", "BsmtQual", "HeatingQC"]].sum(axis=1)
houses["quality_area"] = houses["OverallQual"] * np.log(houses["area"])
numbers = [name for name in houses if name not in kinds]
logged = houses[numbers].copy()
skewed = [name for name in numbers if logged[name].skew() > 0.75 and logged[name].min() >= 0]
logged[skewed] = np.log1p(logged[skewed])
logged = (logged - logged.loc["train"].mean()) / (logged.loc["train"].std() + 1e-9)
coded = pd.get_dummies(houses[kinds], dtype=float)
coded = coded.loc[:, coded.loc["train"].sum() >= 5]
n = len(train)
y = np.log(train["SalePrice"].to_numpy())
huge = ((train["GrLivArea"] > 4000) & (train["SalePrice"] < 300_000)).to_numpy()
wide = np.hstack([logged.clip(-4, 4).to_numpy(), 2 * coded.to_numpy()])
straight = np.hstack([logged.clip(-5, 5).to_numpy(), coded.to_numpy()])
print("lines", straight.shape, "kernel", wide.shape, "huge and cheap:", int(huge.sum()))

# %% Five models on the same five folds
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor
from sklearn.linear_model import ElasticNet, Lasso
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder
from sklearn.svm import SVR

folds = list(KFold(5, shuffle=True, random_state=0).split(y))
kind_means = TargetEncoder(target_type="continuous", smooth=10.0, cv=KFold(5, shuffle=True, random_state=0))
mixed_table = ColumnTransformer([("numbers", "passthrough", numbers), ("kinds", kind_means, kinds)])


def boosting(seed):
    return HistGradientBoostingRegressor(
        max_iter=450, learning_rate=0.04, max_leaf_nodes=8, min_samples_leaf=10, l2_regularization=3.0,
        max_features=0.2, early_stopping=False, random_state=seed,
    )


MODELS = {  # name: (table, model, whether it learns from the huge and cheap)
    "lasso": (straight, Lasso(0.0006, max_iter=20_000), False),
    "elastic": (wide, ElasticNet(0.006, l1_ratio=0.1, max_iter=20_000), False),
    "kernel": (wide, SVR(C=3.0, epsilon=0.03, gamma=6e-4), False),
    "boosting 0": (houses, make_pipeline(mixed_table, boosting(0)), True),
    "boosting 1": (houses, make_pipeline(mixed_table, boosting(1)), True),
    "trees": (houses, make_pipeline(mixed_table, ExtraTreesRegressor(200, max_features=0.35, min_samples_leaf=2, n_jobs=2, random_state=0)), True),
}


def predict(name, learn, wanted):
    table, model, with_huge = MODELS[name]
    learn = learn if with_huge else learn[~huge[learn]]
    rows = table.iloc if isinstance(table, pd.DataFrame) else table
    middle = y[learn].mean()
    return model.fit(rows[learn], y[learn] - middle).predict(rows[wanted]) + middle


def error(predicted):
    return float(np.sqrt(np.mean((predicted - y) ** 2)))


held_out = pd.DataFrame(0.0, index=range(n), columns=list(MODELS))
for learn, held in folds:
    for name in MODELS:
        held_out.loc[held, name] = predict(name, learn, held)
print({name: round(error(held_out[name]), 5) for name in MODELS}, "equal weights:", round(error(held_out.mean(axis=1)), 5))
print(held_out.sub(y, axis=0).corr().round(2).to_string())

# %% Weights, told on folds that they were not fitted on; then hand in
from scipy.optimize import nnls


def weights(rows):
    """Non-negative weights, drawn towards equal ones, fitted without the huge and cheap."""
    rows = rows[~huge[rows]]
    pull = 2.0
    left = np.vstack([held_out.to_numpy()[rows] - y[rows].mean(), pull * np.eye(held_out.shape[1])])
    right = np.r_[y[rows] - y[rows].mean(), np.full(held_out.shape[1], pull / held_out.shape[1])]
    found = nnls(left, right)[0]
    return found / found.sum()


stacked = np.zeros(n)
for learn, held in folds:
    stacked[held] = held_out.to_numpy()[held] @ weights(learn)
final_weights = weights(np.arange(n))
print(dict(zip(MODELS, final_weights.round(2).tolist())), f"stack {error(stacked):.5f}, without huge {error(np.where(huge, y, stacked)):.5f}")
everyone = np.arange(n, len(houses))
predicted = np.column_stack([predict(name, np.arange(n), everyone) for name in MODELS]) @ final_weights
low, high = y.min() - 0.1, y.max() + 0.2
for_validation, for_test = np.split(np.exp(np.clip(predicted, low, high)), [len(validation)])
submit(for_validation, for_test, np.exp(np.clip(stacked, low, high)), final=True)
