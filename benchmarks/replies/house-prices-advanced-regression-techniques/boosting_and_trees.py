# Boosting and extremely random trees of the log price
#
# Ordered codes for qualities, means of the log price for kinds (out of fold, by the library's target encoder),
# sums of areas, then histogram boosting with column sampling and extremely randomised trees, averaged.

# %% Features for trees
QUALITY = {"Po": 1, "Fa": 2, "TA": 3, "Gd": 4, "Ex": 5}
houses = pd.concat([train.drop(columns="SalePrice"), validation, test], keys=["train", "validation", "test"]).drop(columns="Id")
houses["MSSubClass"] = houses["MSSubClass"].astype(str)
words = [name for name in houses if houses[name].dropna().isin(QUALITY).all()]
houses[words] = houses[words].apply(lambda column: column.map(QUALITY)).fillna(0).astype(float)
houses["area"] = houses["TotalBsmtSF"].fillna(0) + houses["1stFlrSF"] + houses["2ndFlrSF"]
houses["baths"] = houses["FullBath"] + houses["BsmtFullBath"].fillna(0) + 0.5 * (houses["HalfBath"] + houses["BsmtHalfBath"].fillna(0))
houses["porches"] = houses[["OpenPorchSF", "EnclosedPorch", "3SsnPorch", "ScreenPorch", "WoodDeckSF"]].sum(axis=1)
houses["age"] = houses["YrSold"] - houses["YearBuilt"]
houses["renewed"] = houses["YrSold"] - houses["YearRemodAdd"]
houses["quality_area"] = houses["OverallQual"] * houses["area"]
houses["looks"] = houses[["OverallQual", "ExterQual", "KitchenQual", "BsmtQual", "HeatingQC"]].sum(axis=1)
houses["room"] = houses["GrLivArea"] / houses["TotRmsAbvGrd"]
kinds = [name for name in houses if houses[name].dtype.kind not in "if"]
houses[kinds] = houses[kinds].fillna("none").astype(str)
numbers = [name for name in houses if name not in kinds]
y = np.log(train["SalePrice"].to_numpy())
print(len(numbers), "numbers,", len(kinds), "kinds; strongest:", houses.loc["train", numbers].corrwith(pd.Series(y, index=train.index)).abs().nlargest(8).round(2).to_dict())

# %% Two kinds of trees on five folds
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder


def coded():
    return ColumnTransformer([
        ("numbers", SimpleImputer(strategy="constant", fill_value=0), numbers),
        ("kinds", TargetEncoder(target_type="continuous", smooth=10.0, cv=KFold(5, shuffle=True, random_state=0)), kinds),
    ])


def boosting(seed):
    return make_pipeline(coded(), HistGradientBoostingRegressor(
        max_iter=450, learning_rate=0.04, max_leaf_nodes=8, min_samples_leaf=10, l2_regularization=3.0,
        max_features=0.2, early_stopping=False, random_state=seed,
    ))


def random_trees(seed):
    return make_pipeline(coded(), ExtraTreesRegressor(
        n_estimators=250, max_features=0.35, min_samples_leaf=2, n_jobs=2, random_state=seed,
    ))


folds = list(KFold(5, shuffle=True, random_state=0).split(y))
rows = houses.loc["train"].reset_index(drop=True)
held_out = {"boosting": np.zeros(len(y)), "trees": np.zeros(len(y))}
for learn, held in folds:
    for kind, models in {"boosting": [boosting(0), boosting(1)], "trees": [random_trees(0)]}.items():
        for model in models:
            held_out[kind][held] += model.fit(rows.iloc[learn], y[learn]).predict(rows.iloc[held]) / len(models)
for share in (0.0, 0.25, 0.5, 0.75, 1.0):
    mixed = share * held_out["boosting"] + (1 - share) * held_out["trees"]
    print(f"{share:.2f} boosting: rmse of log {np.sqrt(np.mean((mixed - y) ** 2)):.5f}")

# %% Hand in three quarters of boosting and one of trees
models = [(0.25, boosting(0)), (0.25, boosting(1)), (0.25, boosting(2)), (0.25, random_trees(0))]
for _, model in models:
    model.fit(rows, y)
for_validation, for_test = (
    np.exp(sum(weight * model.predict(houses.loc[part]) for weight, model in models)) for part in ("validation", "test")
)
mixed = 0.75 * held_out["boosting"] + 0.25 * held_out["trees"]
worst = train.assign(error=mixed - y).nlargest(4, "error", keep="first")[["Id", "GrLivArea", "SaleCondition", "SalePrice", "error"]]
print(worst.round(2).to_string(index=False))
submit(for_validation, for_test, np.exp(mixed))
