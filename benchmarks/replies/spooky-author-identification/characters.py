# Characters of two to five: endings, spellings, punctuation
#
# Tf-idf of character 2- to 5-grams with case and punctuation kept. A linear model trained by averaged stochastic
# gradients and naive Bayes on the same columns are mixed as log probabilities, with weights found on folds.

# %% Characters, and naive Bayes on one fold
import time

from scipy.special import softmax
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import MultinomialNB

AUTHORS = ["EAP", "HPL", "MWS"]
y = train["author"].map({author: number for number, author in enumerate(AUTHORS)}).to_numpy()
folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(y, y))
characters = TfidfVectorizer(analyzer="char", ngram_range=(2, 5), min_df=4, sublinear_tf=True, lowercase=False)
X = characters.fit_transform(train["text"])
print(X.shape, f"{X.nnz / X.shape[0]:.0f} n-grams a sentence")
learn, held = folds[0]
for alpha in (0.01, 0.03, 0.1):
    logs = MultinomialNB(alpha=alpha).fit(X[learn], y[learn]).predict_log_proba(X[held])
    print(f"naive Bayes, alpha {alpha}, by power:", {power: round(log_loss(y[held], softmax(power * logs, axis=1)), 4) for power in (0.8, 1, 1.2)})

# %% A linear model and naive Bayes on five folds
def scores(rows, labels, others):
    """Return scores of both models, an author a column, for each table in `others`."""
    line = SGDClassifier(loss="log_loss", alpha=1e-5, max_iter=10, tol=None, average=True, random_state=0).fit(rows, labels)
    bayes = MultinomialNB(alpha=0.03).fit(rows, labels)
    return [(line.decision_function(other), bayes.predict_log_proba(other)) for other in others]


start = time.monotonic()
held_out = np.zeros((2, len(y), 3))
for learn, held in folds:
    [held_out[:, held]] = scores(X[learn], y[learn], [X[held]])
print([round(log_loss(y, softmax(part, axis=1)), 4) for part in held_out], f"{time.monotonic() - start:.0f} s")

# %% Weights of both, then hand in
def mix(parts, weights):
    return softmax(weights[0] * parts[0] + weights[1] * parts[1], axis=1)


found = {(a, b): log_loss(y, mix(held_out, (a, b))) for a in (0.2, 0.35, 0.5, 0.7) for b in (0.3, 0.5, 0.7, 0.9)}
weights = min(found, key=found.get)
print("weights of line and bayes:", weights, "log loss", round(found[weights], 4))
answers = scores(X, y, [characters.transform(validation["text"]), characters.transform(test["text"])])
predicted = mix(held_out, weights)
print("accuracy", (predicted.argmax(1) == y).mean().round(4))
submit(*(mix(parts, weights) for parts in answers), predicted)
