# A table: skrub's encoders in front of models that err in different ways, averaged.
from skrub import tabular_pipeline
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LogisticRegression, RidgeCV

# An id is no feature, unless it is a date.
dated = [c for c in IDS if c in test and test[c].astype(str).str.match(r"\d{4}-\d\d-\d\d").all()]
features = [column for column in test.columns if column not in IDS or column in dated]
for part in (train, validation, test):
    for column in dated:
        part[column] = pd.to_datetime(part[column])
classes = train[LABELS[0]].nunique() if KIND != "number" else 0
small = len(train) <= 30_000
# Many rows, targets and classes together get fewer rounds, each with a longer step.
trees_a_round = (
    len(TARGETS) if KIND in ("number", "probability") else max(1, classes if classes > 2 else 1)
)
rounds = int(np.clip(1e8 / (len(train) * trees_a_round), 40, 400))
boosting = dict(
    learning_rate=min(20 / rounds, 0.2), max_iter=rounds, l2_regularization=1.0, random_state=SEED
)


def encoded(model):
    return tabular_pipeline(model) if small else model


def classifier():
    if classes > 20:  # trees need many rows a class, and their averages are far from sure
        steps = int(np.clip(1e9 / (len(train) * classes), 50, 1000))
        return tabular_pipeline(LogisticRegression(C=30.0, max_iter=steps))
    models = [("boosting", encoded(HistGradientBoostingClassifier(**boosting)))]
    if small:
        trees = ExtraTreesClassifier(400, min_samples_leaf=2, random_state=SEED)
        linear = LogisticRegression(max_iter=1000)
        models += [("trees", tabular_pipeline(trees)), ("linear", tabular_pipeline(linear))]
    return VotingClassifier(models, voting="soft")


def regressor():
    trees = ExtraTreesRegressor(400, min_samples_leaf=2, random_state=SEED)
    if len(TARGETS) > 4:
        return tabular_pipeline(trees.set_params(n_estimators=int(np.clip(4e6 / len(train), 20, 400))))
    loss = "absolute_error" if METRIC in ("mae", "mape", "smape") else "squared_error"
    models = [("boosting", encoded(HistGradientBoostingRegressor(loss=loss, **boosting)))]
    if small:
        linear = RidgeCV(alphas=np.logspace(-1, 3, 9))
        models += [("trees", tabular_pipeline(trees)), ("linear", tabular_pipeline(linear))]
    return VotingRegressor(models)


x, *parts = (part[features] for part in (train, validation, test))
if not small:  # encode once for all targets
    encoder = tabular_pipeline(HistGradientBoostingRegressor())[0].fit(x)
    x, *parts = (encoder.transform(part) for part in (x, *parts))
hand_in(answers(classifier, regressor, x, parts))
