# Green and red rise and fall together. How far the red pixel stands above the red around it says how far
# the green one does: add that to the mean of the four green neighbours, with a weight learnt from train.
import numpy as np
import pandas as pd

FOLDER = "input/demo-mosaic"
train, test = pd.read_csv(f"{FOLDER}/train.csv"), pd.read_csv(f"{FOLDER}/test.csv")


def mean_of_four(table):
    return table[["g12", "g21", "g23", "g32"]].mean(axis=1)


def bump(table):
    return table["r22"] - table[["r02", "r20", "r24", "r42"]].mean(axis=1)


rest = train["green"] - mean_of_four(train)
weight = (bump(train) @ rest) / (bump(train) @ bump(train))
error = rest - weight * bump(train)
print("weight:", round(weight, 3), "error on train:", round(np.sqrt((error**2).mean()), 3))

green = (mean_of_four(test) + weight * bump(test)).clip(0, 255)
test[["pixel_id"]].assign(green=green).to_csv("submission.csv", index=False)
