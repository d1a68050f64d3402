# Forked from the ridge: body mass times pressure and the other products, chosen by the lasso.
import pandas as pd
from sklearn.linear_model import LassoCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

train = pd.read_csv("input/demo-diabetes/train.csv")
test = pd.read_csv("input/demo-diabetes/test.csv")
features = [column for column in test.columns if column != "patient_id"]

products = PolynomialFeatures(2, include_bias=False)
model = make_pipeline(StandardScaler(), products, StandardScaler(), LassoCV(cv=10, random_state=0))
model.fit(train[features], train["progression"])

weights = pd.Series(model[-1].coef_, model[:-1].get_feature_names_out(features))
print(weights[weights != 0].sort_values(key=abs, ascending=False).head(12).round(1))

predicted = model.predict(test[features])
test[["patient_id"]].assign(progression=predicted).to_csv("submission.csv", index=False)
