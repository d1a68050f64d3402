# goal: Boosted trees on what the estimate leaves
from sklearn.ensemble import HistGradientBoostingRegressor


def trees(rows, rest, **settings):
    wanted = {
        "max_iter": 100,
        "learning_rate": 0.08,
        "max_leaf_nodes": 15,
        "min_samples_leaf": 15,
    } | settings
    model = HistGradientBoostingRegressor(random_state=0, n_jobs=1, **wanted).fit(features(rows), rest)
    return lambda others: model.predict(features(others))


best = cross_predict(trees)
print("trees:", error(best[0]))
submit(best[1], best[2], out_of_fold=best[0])
