# Stack of words, characters and style
#
# Builds on words: logistic regression and naive Bayes on words and pairs, a linear model and naive Bayes on characters,
# and numbers of style (length, punctuation, capitals). Their log probabilities, predicted out of fold,
# go into a regularised multinomial regression, which weighs and calibrates.

# %% Counts of words and characters, and numbers of style
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.model_selection import StratifiedKFold

TOKEN = r"(?u)\w+(?:'\w+)?|[^\w\s]"
AUTHORS = ["EAP", "HPL", "MWS"]
y = train["author"].map({author: number for number, author in enumerate(AUTHORS)}).to_numpy()
n = len(train)
texts = pd.concat([train["text"], validation["text"], test["text"]], ignore_index=True)
words = CountVectorizer(token_pattern=TOKEN, ngram_range=(1, 2), lowercase=False).fit_transform(texts)
words.data[:] = 1
smooth = TfidfVectorizer(token_pattern=TOKEN, ngram_range=(1, 2), min_df=2, sublinear_tf=True).fit_transform(texts)
characters = TfidfVectorizer(analyzer="char", ngram_range=(2, 5), min_df=4, sublinear_tf=True, lowercase=False).fit_transform(texts)
length = texts.str.len()
style = pd.DataFrame({
    "length": np.log(length), "word": length / texts.str.count(" ").add(1), "capitals": texts.str.count(r"[A-Z]") / length,
    **{f"count of {mark}": texts.str.count(mark) / length * 20 for mark in (",", ";", ":", '"', "'", r"\?", r"\bI\b", r"\bmy\b", r"\bupon\b", r"\bhad\b", r"\bthe\b")},
})
style = ((style - style.mean()) / style.std()).clip(-4, 4).to_numpy()
print(words.shape, smooth.shape, characters.shape, style.shape)

# %% Out-of-fold scores of each kind
import time

from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import log_loss
from sklearn.naive_bayes import MultinomialNB

folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(y, y))


def line(alpha):
    return SGDClassifier(loss="log_loss", alpha=alpha, max_iter=10, tol=None, average=True, random_state=0)


KINDS = {
    "bayes of words": (words, lambda: MultinomialNB(alpha=0.04)),
    "line of words": (smooth, lambda: line(1e-5)),
    "bayes of characters": (characters, lambda: MultinomialNB(alpha=0.01)),
    "line of characters": (characters, lambda: line(1e-5)),
}


def scores(learn, wanted):
    """Scores of all kinds for the rows `wanted`, three columns a kind, with their mean over authors taken out."""
    columns = []
    for table, make in KINDS.values():
        model = make().fit(table[learn], y[learn])
        part = model.predict_log_proba(table[wanted]) if isinstance(model, MultinomialNB) else model.decision_function(table[wanted])
        columns.append(part - part.mean(axis=1, keepdims=True))
    return np.hstack(columns)


start = time.monotonic()
held_out = np.zeros((n, 3 * len(KINDS)))
for learn, held in folds:
    held_out[held] = scores(learn, held)
print({kind: (held_out[:, 3 * i : 3 * i + 3].argmax(axis=1) == y).mean().round(4) for i, kind in enumerate(KINDS)}, f"{time.monotonic() - start:.0f} s")

# %% The second level, told on folds of its own
def stacked(scale, rows, numbers):
    return np.hstack([rows / scale, 0.3 * numbers])


scale = held_out.std(axis=0)
second = np.zeros((n, 3))
table = stacked(scale, held_out, style[:n])
for learn, held in StratifiedKFold(5, shuffle=True, random_state=1).split(y, y):
    second[held] = LogisticRegression(C=1.0, max_iter=500).fit(table[learn], y[learn]).predict_proba(table[held])
print(f"log loss {log_loss(y, second):.4f}, accuracy {(second.argmax(axis=1) == y).mean():.4f}")
for low, high in ((0, 60), (60, 120), (120, 240), (240, 10_000)):
    rows = length[:n].between(low, high, inclusive="left").to_numpy()
    print(f"{low} to {high} characters: {rows.sum()} sentences, log loss {log_loss(y[rows], second[rows], labels=range(3)):.3f}")

# %% Hand in
top = LogisticRegression(C=1.0, max_iter=500).fit(table, y)
rest = np.arange(n, len(texts))
answer = top.predict_proba(stacked(scale, scores(np.arange(n), rest), style[n:]))
submit(answer[: len(validation)], answer[len(validation):], second, final=True)
