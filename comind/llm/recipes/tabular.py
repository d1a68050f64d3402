# A table with one target: skrub's encoders in front of gradient boosting.
import numpy as np
import pandas as pd
from skrub import tabular_pipeline
from sklearn.ensemble import HistGradientBoostingClassifier

np.random.seed(SEED)  # the text encoder inside draws from numpy's global generator
train = pd.read_csv(f"{FOLDER}/train.csv")
validation = pd.read_csv(f"{FOLDER}/validation.csv")
test = pd.read_csv(f"{FOLDER}/test.csv")
features = [column for column in test.columns if column not in IDS]
target = TARGETS[0]

model = tabular_pipeline(HistGradientBoostingClassifier(random_state=SEED))
model.fit(train[features], train[target])
for rows, name in [(validation, "validation_submission.csv"), (test, "submission.csv")]:
    submission = rows[IDS].copy()
    submission[target] = model.predict(rows[features])
    submission.to_csv(name, index=False)
print(f"{len(features)} features, {len(train)} rows, {train[target].nunique()} classes")
