# goal: A third of the features for each split, so that trees differ more before they are averaged
from functools import partial

varied = cross_predict(over_views(partial(boosted, max_features=0.3, max_iter=150)))
print("a third of the features for each split:", error(varied[0]))
best = varied if error(varied[0]) < error(best[0]) else best
submit(best[1], best[2], out_of_fold=best[0])
