# Scale the thirty measurements, then draw one straight border. Hard to beat on 400 rows.
import pandas as pd
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

train = pd.read_csv("input/demo-tumours/train.csv")
test = pd.read_csv("input/demo-tumours/test.csv")
features = [column for column in test.columns if column != "sample_id"]

model = make_pipeline(StandardScaler(), LogisticRegressionCV(Cs=10, max_iter=5000))
print("five folds:", cross_val_score(model, train[features], train["benign"], cv=5).round(3))

model.fit(train[features], train["benign"])
test[["sample_id"]].assign(benign=model.predict(test[features])).to_csv("submission.csv", index=False)
