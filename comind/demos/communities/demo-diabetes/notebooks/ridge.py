# Ten columns, three hundred patients: a straight line with a little shrinkage goes a long way.
import numpy as np
import pandas as pd
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

train = pd.read_csv("input/demo-diabetes/train.csv")
test = pd.read_csv("input/demo-diabetes/test.csv")
features = [column for column in test.columns if column != "patient_id"]

model = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 3, 20)))
errors = -cross_val_score(
    model, train[features], train["progression"], cv=10, scoring="neg_root_mean_squared_error"
)
print("ten folds:", errors.mean().round(2), "+-", errors.std().round(2))

model.fit(train[features], train["progression"])
predicted = model.predict(test[features])
test[["patient_id"]].assign(progression=predicted).to_csv("submission.csv", index=False)
