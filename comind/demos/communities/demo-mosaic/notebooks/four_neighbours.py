# The four pixels beside it are green: take their mean. No model, and a score to beat.
import pandas as pd

FOLDER = "input/demo-mosaic"
train, test = pd.read_csv(f"{FOLDER}/train.csv"), pd.read_csv(f"{FOLDER}/test.csv")
beside = ["g12", "g21", "g23", "g32"]

error = train[beside].mean(axis=1) - train["green"]
print("error on train:", round((error**2).mean() ** 0.5, 3))

test[["pixel_id"]].assign(green=test[beside].mean(axis=1)).to_csv("submission.csv", index=False)
