# Fit on features, predict validation and test rows in the form that is asked for, hand both in.
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer

np.random.seed(SEED)
train, validation, test = (
    pd.read_csv(f"{FOLDER}/{part}.csv") for part in ("train", "validation", "test")
)
FORWARD, BACK = {"rmsle": (np.log1p, np.expm1), "rmse-of-log": (np.log, np.exp)}.get(
    METRIC, (lambda y: y, lambda y: y)
)


def numbers(model, x, y, parts):
    """Regress on the scale that the metric looks at; stay within what was seen."""
    y = FORWARD(np.asarray(y, dtype=float))
    model.fit(x, y)
    return [BACK(np.clip(model.predict(part), y.min(axis=0), y.max(axis=0))) for part in parts]


def one_by_one():
    """Return a model of sets of labels, each label for itself."""
    return OneVsRestClassifier(LogisticRegression(C=10, max_iter=300))


def answers(classifier, regressor, x, parts, many=one_by_one):
    """Return a table of target columns for each of `parts`; makes one model a target."""
    columns = [{} for _ in parts]
    if KIND == "class-probabilities" and LABELS[0] not in TARGETS:
        model = classifier().fit(x, train[LABELS[0]].astype(str))
        for out, part in zip(columns, parts):
            shares = pd.DataFrame(model.predict_proba(part), columns=model.classes_)
            out.update(shares.reindex(columns=TARGETS, fill_value=0.0))
    elif KIND == "label-set":
        encoder = MultiLabelBinarizer()
        sets = encoder.fit_transform(train[TARGETS[0]].fillna("").astype(str).str.split())
        model = many().fit(x, sets)
        for out, part in zip(columns, parts):
            shares = model.predict_proba(part)
            chosen = (shares > 0.3) | (shares == shares.max(axis=1, keepdims=True))
            out[TARGETS[0]] = [" ".join(encoder.classes_[row]) for row in chosen]
    elif KIND == "number" and len(TARGETS) > 4:  # one model for all, sharing what it learns
        for out, values in zip(columns, numbers(regressor(), x, train[TARGETS], parts)):
            out.update(pd.DataFrame(values, columns=TARGETS))
    else:
        for target in TARGETS:
            for out, values in zip(columns, one_target(target, classifier, regressor, x, parts)):
                out[target] = values
    return [pd.DataFrame(out) for out in columns]


def one_target(target, classifier, regressor, x, parts):
    y = train[target]
    if KIND == "number":
        return numbers(regressor(), x, y, parts)
    if METRIC == "quadratic-weighted-kappa":  # the classes have an order: predict it, then round
        found = numbers(regressor(), x, y, parts)
        return [np.clip(np.rint(values), y.min(), y.max()).astype(int) for values in found]
    if KIND == "label":
        model = classifier().fit(x, y.astype(str))
        return [model.predict(part) for part in parts]
    positive = (y.astype(float) >= 0.5).astype(int)
    if positive.nunique() == 1:
        return [np.full(len(part), float(positive.iloc[0])) for part in parts]
    model = classifier().fit(x, positive)
    return [model.predict_proba(part)[:, 1] for part in parts]


def hand_in(tables):
    for rows, table, name in zip(
        (validation, test), tables, ("validation_submission.csv", "submission.csv")
    ):
        pd.concat([rows[IDS], table.set_index(rows.index)], axis=1).to_csv(name, index=False)
    print(f"handed in {' and '.join(str(len(table)) for table in tables)} rows")
