# Logistic regression with products of sex, class and title
#
# A few well chosen features, splines for age and fare, and products with sex and class,
# in a logistic regression whose strength of regularisation is chosen by repeated folds.

# %% Read titles and families, and fill the age by title and class
everyone = pd.concat([train, validation, test], keys=["train", "validation", "test"])
title = everyone["Name"].str.extract(r",\s*([^.]+)\.")[0].str.strip()
title = title.replace({"Mlle": "Miss", "Ms": "Miss", "Mme": "Mrs"})
title = title.where(title.isin(["Mr", "Mrs", "Miss", "Master"]), "Rare")
people = everyone["Ticket"].map(everyone["Ticket"].value_counts())
family = everyone["SibSp"] + everyone["Parch"] + 1
base = pd.DataFrame({
    "title": title,
    "pclass": everyone["Pclass"].astype(str),
    "sex": everyone["Sex"],
    "embarked": everyone["Embarked"].fillna("S"),
    "group": pd.cut(np.maximum(family, people), [0, 1, 4, 20], labels=["alone", "small", "large"]).astype(str),
    "cabin": everyone["Cabin"].notna().map({True: "known", False: "unknown"}),
    "age": everyone["Age"].fillna(everyone["Age"].groupby([title, everyone["Pclass"]]).transform("median")),
    "fare": np.log1p(everyone["Fare"].fillna(everyone["Fare"].median()) / people),
})
base["age"] = base["age"].fillna(base["age"].median())
base["cell"] = base["sex"] + base["pclass"]
base["kind"] = base["title"] + base["pclass"]
base["sized"] = base["sex"] + base["group"]
y = train["Survived"].to_numpy()
print(train.groupby(base.loc["train", "cell"].to_numpy())["Survived"].agg(["mean", "size"]).round(3))

# %% Choose the regularisation on repeated folds
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer

CATEGORIES = ["title", "pclass", "sex", "embarked", "group", "cabin", "cell", "kind", "sized"]


def linear(strength):
    prepare = ColumnTransformer([
        ("categories", OneHotEncoder(handle_unknown="ignore", min_frequency=4), CATEGORIES),
        ("curves", SplineTransformer(n_knots=5, degree=2, knots="quantile", extrapolation="constant"), ["age", "fare"]),
    ])
    return make_pipeline(prepare, LogisticRegression(C=strength, max_iter=2000))


repeated = RepeatedStratifiedKFold(n_splits=5, n_repeats=4, random_state=0)
found = {}
for strength in (0.05, 0.15, 0.5, 1.5):
    scores = cross_val_score(linear(strength), base.loc["train"], y, cv=repeated)
    found[strength] = scores.mean()
    print(f"C {strength}: accuracy {scores.mean():.4f}, standard error {scores.std() / len(scores) ** 0.5:.4f}")
strength = max(found, key=found.get)

# %% Hand in with out-of-fold predictions, and look at the weights
from sklearn.model_selection import StratifiedKFold, cross_val_predict

folds = StratifiedKFold(5, shuffle=True, random_state=0)
chance = cross_val_predict(linear(strength), base.loc["train"], y, cv=folds, method="predict_proba")[:, 1]
model = linear(strength).fit(base.loc["train"], y)
for_validation, for_test = (model.predict_proba(base.loc[part])[:, 1] for part in ("validation", "test"))
weights = pd.Series(model[-1].coef_[0], index=model[0].get_feature_names_out()).sort_values()
print(pd.concat([weights.head(5), weights.tail(5)]).round(2))
print(f"C {strength}; out-of-fold accuracy {((chance > 0.5) == y).mean():.4f}")
submit((for_validation > 0.5).astype(int), (for_test > 0.5).astype(int), (chance > 0.5).astype(int))
