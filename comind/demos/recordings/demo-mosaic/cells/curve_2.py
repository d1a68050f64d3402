# goal: The line over eight views as well, and the mean of both
def straight_on(rows, rest):
    model = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-1, 4, 11))).fit(features(rows), rest)
    return lambda others: model.predict(features(others))


flat = cross_predict(over_views(straight_on))
both = [(one + other) / 2 for one, other in zip(flat, best)]
print("a line over eight views:", error(flat[0]), "both:", error(both[0]))
best = both if error(both[0]) < error(best[0]) else best
submit(best[1], best[2], out_of_fold=best[0])
