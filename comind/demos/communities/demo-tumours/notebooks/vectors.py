# Forked from the straight border: logs of the skewed measurements and a soft margin with a curved border.
import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

train = pd.read_csv("input/demo-tumours/train.csv")
test = pd.read_csv("input/demo-tumours/test.csv")
features = [column for column in test.columns if column != "sample_id"]


def prepare(table):
    return np.log1p(table[features])


grid = {"svc__C": [1, 3, 10, 30], "svc__gamma": [0.003, 0.01, 0.03]}
search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid, cv=5)
search.fit(prepare(train), train["benign"])
print("best of the grid:", search.best_params_, round(search.best_score_, 4))

predicted = search.predict(prepare(test))
test[["sample_id"]].assign(benign=predicted).to_csv("submission.csv", index=False)
