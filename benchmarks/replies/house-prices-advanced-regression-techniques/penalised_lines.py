# Lasso, elastic net and ridge on logged areas and ordered qualities
#
# Qualities become numbers, skewed columns are logged, kinds are one-hot coded, sums of areas are added,
# and three penalised linear models of the log price are averaged.
# Huge houses that were sold unfinished are left out of the learning rows.

# %% A first lasso on ordered qualities and one-hot kinds
from sklearn.linear_model import Lasso
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler

QUALITY = {"Po": 1, "Fa": 2, "TA": 3, "Gd": 4, "Ex": 5}
houses = pd.concat([train.drop(columns="SalePrice"), validation, test], keys=["train", "validation", "test"]).drop(columns="Id")
houses["MSSubClass"] = houses["MSSubClass"].astype(str)
words = [name for name in houses if houses[name].dropna().isin(QUALITY).all()]
houses[words] = houses[words].apply(lambda column: column.map(QUALITY)).fillna(0).astype(float)
y = np.log(train["SalePrice"].to_numpy())
folds = list(KFold(5, shuffle=True, random_state=0).split(y))
print("ordered words:", words)
X = pd.get_dummies(houses, dtype=float)
print(X.shape, "missing:", int(X.isna().sum().sum()))
print(-cross_val_score(make_pipeline(RobustScaler(), Lasso(0.0005)), X.loc["train"], y, cv=folds, scoring="neg_root_mean_squared_error"))

# %% Fill what is missing, add sums, log what is skewed
numbers = houses.select_dtypes("number").columns
frontage = houses["LotFrontage"].fillna(houses.groupby("Neighborhood")["LotFrontage"].transform("median"))
houses["LotFrontage"] = frontage.fillna(frontage.median())
houses["GarageYrBlt"] = houses["GarageYrBlt"].fillna(houses["YearBuilt"]).clip(upper=2011)
houses["Functional"] = houses["Functional"].fillna("Typ").map(
    {"Sal": 0, "Sev": 1, "Maj2": 2, "Maj1": 3, "Mod": 4, "Min2": 5, "Min1": 6, "Typ": 7}
)
houses["BsmtExposure"] = houses["BsmtExposure"].map({"No": 1, "Mn": 2, "Av": 3, "Gd": 4}).fillna(0)
for name in ("BsmtFinType1", "BsmtFinType2"):
    houses[name] = houses[name].map({"Unf": 1, "LwQ": 2, "Rec": 3, "BLQ": 4, "ALQ": 5, "GLQ": 6}).fillna(0)
houses[numbers] = houses[numbers].fillna(0)
houses["area"] = houses["TotalBsmtSF"] + houses["1stFlrSF"] + houses["2ndFlrSF"]
houses["baths"] = houses["FullBath"] + houses["BsmtFullBath"] + 0.5 * (houses["HalfBath"] + houses["BsmtHalfBath"])
houses["porches"] = houses[["OpenPorchSF", "EnclosedPorch", "3SsnPorch", "ScreenPorch", "WoodDeckSF"]].sum(axis=1)
houses["age"] = (houses["YrSold"] - houses["YearBuilt"]).clip(lower=0)
houses["renewed"] = (houses["YrSold"] - houses["YearRemodAdd"]).clip(lower=0)
houses["quality_area"] = houses["OverallQual"] * np.log(houses["area"])
houses["condition"] = houses["OverallQual"] * houses["OverallCond"]
houses["month"] = houses["MoSold"].astype(str)
areas = [name for name in houses.select_dtypes("number") if houses[name].skew() > 0.75 and houses[name].min() >= 0]
houses[areas] = np.log1p(houses[areas])
X = pd.get_dummies(houses.fillna("none"), dtype=float)
X = X.loc[:, X.loc["train"].gt(0).sum() >= 5]
huge = (train["GrLivArea"] > 4000).to_numpy() & (train["SalePrice"] < 300_000).to_numpy()
print(X.shape, "missing:", int(X.isna().sum().sum()), "| logged:", len(areas), "| left out of learning:", int(huge.sum()))

# %% Choose the penalties on five folds
from sklearn.linear_model import ElasticNet, Ridge

rows = X.loc["train"].to_numpy()


def out_of_fold(make):
    predicted = np.zeros(len(y))
    for learn, held in folds:
        learn = learn[~huge[learn]]
        predicted[held] = make().fit(rows[learn], y[learn]).predict(rows[held])
    return predicted


def error(predicted):
    return np.sqrt(np.mean((predicted - y) ** 2))


KINDS = {
    "lasso": lambda penalty: make_pipeline(RobustScaler(), Lasso(penalty, max_iter=20_000)),
    "elastic": lambda penalty: make_pipeline(RobustScaler(), ElasticNet(penalty, l1_ratio=0.3, max_iter=20_000)),
    "ridge": lambda penalty: make_pipeline(RobustScaler(), Ridge(penalty)),
}
chosen, held_out = {}, {}
for kind, penalties in {"lasso": (3e-4, 6e-4, 1.2e-3), "elastic": (1e-3, 2e-3, 4e-3), "ridge": (8, 20, 50)}.items():
    tried = {penalty: out_of_fold(lambda: KINDS[kind](penalty)) for penalty in penalties}
    chosen[kind] = min(tried, key=lambda penalty: error(tried[penalty]))
    held_out[kind] = tried[chosen[kind]]
    print(kind, {penalty: round(float(error(predicted)), 5) for penalty, predicted in tried.items()})

# %% Hand in the average of the three
average = np.mean(list(held_out.values()), axis=0)
models = [KINDS[kind](chosen[kind]).fit(rows[~huge], y[~huge]) for kind in KINDS]
low, high = y.min() - 0.2, y.max() + 0.2
for_validation, for_test = (
    np.exp(np.clip(np.mean([model.predict(X.loc[part].to_numpy()) for model in models], axis=0), low, high))
    for part in ("validation", "test")
)
print(f"out-of-fold: average {error(average):.5f}; without the huge ones {np.sqrt(np.mean((average - y)[~huge] ** 2)):.5f}")
print("typical prices:", [int(np.median(prices)) for prices in (np.exp(y), for_validation, for_test)])
submit(for_validation, for_test, np.exp(np.clip(average, low, high)))
