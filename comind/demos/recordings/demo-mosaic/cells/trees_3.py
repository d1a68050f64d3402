# goal: Smaller steps or larger leaves, on the same folds
from functools import partial

for settings in ({"max_iter": 200, "learning_rate": 0.04}, {"min_samples_leaf": 40}):
    tried = cross_predict(partial(trees, **settings))
    print(settings, error(tried[0]))
    if error(tried[0]) < error(best[0]):
        best = tried
print("kept:", error(best[0]))
submit(best[1], best[2], out_of_fold=best[0])
