# goal: A ridge on the prepared features, handed in at once
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def line(rows, rest):
    model = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-1, 4, 11))).fit(features(rows), rest)
    return lambda others: model.predict(features(others))


straight = cross_predict(line)
print("a straight line:", error(straight[0]))
best = straight
submit(best[1], best[2], out_of_fold=best[0])
