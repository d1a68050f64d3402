# A table with one target: skrub's encoders in front of gradient boosting.
from pathlib import Path

import numpy as np
import pandas as pd
from skrub import tabular_pipeline
from sklearn.ensemble import HistGradientBoostingClassifier

np.random.seed(BRIEF["seed"])  # the text encoder inside draws from numpy's global generator
folder = Path(BRIEF["folder"])
train, validation, test = (
    pd.read_csv(folder / f"{name}.csv") for name in ("train", "validation", "test")
)
ids, target = BRIEF["id_columns"], BRIEF["target_columns"][0]
features = [column for column in test.columns if column not in ids]

model = tabular_pipeline(HistGradientBoostingClassifier(random_state=BRIEF["seed"]))
model.fit(train[features], train[target])
for rows, name in ((validation, "validation_submission.csv"), (test, "submission.csv")):
    rows[ids].assign(**{target: model.predict(rows[features])}).to_csv(name, index=False)
print(f"{len(features)} features, {len(train)} rows, {train[target].nunique()} classes")
