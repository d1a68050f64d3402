# After the end: a line through all pixels beats my trees, and I should have looked at what it leaves.
import pandas as pd
from sklearn.linear_model import LinearRegression

FOLDER = "input/demo-mosaic"
train, test = pd.read_csv(f"{FOLDER}/train.csv"), pd.read_csv(f"{FOLDER}/test.csv")
pixels = [column for column in test.columns if column != "pixel_id"]

model = LinearRegression().fit(train[pixels], train["green"])
green = model.predict(test[pixels]).clip(0, 255)
test[["pixel_id"]].assign(green=green).to_csv("submission.csv", index=False)
