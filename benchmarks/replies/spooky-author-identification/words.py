# Words and pairs of words: logistic regression and naive Bayes
#
# Tokens are words with their punctuation and stop words kept; tf-idf of 1- and 2-grams goes into a logistic
# regression, counts into naive Bayes. Their log probabilities are averaged with a weight and a softening found on folds.

# %% Count words and pairs, and fit a first logistic regression
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

TOKEN = r"(?u)\w+(?:'\w+)?|[^\w\s]"
AUTHORS = ["EAP", "HPL", "MWS"]
y = train["author"].map({author: number for number, author in enumerate(AUTHORS)}).to_numpy()
folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(y, y))
words = TfidfVectorizer(token_pattern=TOKEN, ngram_range=(1, 2), min_df=2, sublinear_tf=True)
X = words.fit_transform(train["text"])
print(X.shape, train["author"].value_counts(normalize=True).round(3).to_dict())
learn, held = folds[0]
model = LogisticRegression(C=10, multi_class="multinomial", max_iter=200).fit(X[learn], y[learn])
print("log loss of one fold:", log_loss(y[held], model.predict_proba(X[held])))

# %% The argument multi_class is gone; add naive Bayes on counts
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB


def both(texts, labels, wanted):
    """Log probabilities of the two models for each list of texts in `wanted`."""
    tfidf = TfidfVectorizer(token_pattern=TOKEN, ngram_range=(1, 2), min_df=2, sublinear_tf=True).fit(texts)
    counts = CountVectorizer(token_pattern=TOKEN, ngram_range=(1, 2), binary=True, lowercase=False).fit(texts)
    linear = LogisticRegression(C=25, max_iter=120, tol=1e-3).fit(tfidf.transform(texts), labels)
    bayes = MultinomialNB(alpha=0.04).fit(counts.transform(texts), labels)
    return [
        (linear.predict_log_proba(tfidf.transform(each)), bayes.predict_log_proba(counts.transform(each))) for each in wanted
    ]


texts = train["text"].to_numpy()
held_out = np.zeros((2, len(y), 3))
for number, (learn, held) in enumerate(folds):
    held_out[:, held] = both(texts[learn], y[learn], [texts[held]])[0]
    if number == 0:
        print("one fold:", [round(log_loss(y[held], np.exp(part[held])), 4) for part in held_out])
print("log loss on five folds:", {name: round(log_loss(y, np.exp(part)), 4) for name, part in zip(("linear", "bayes"), held_out)})

# %% Find the weight of each, and hand in
from scipy.special import softmax


def mix(parts, weights):
    mixed = np.clip(softmax(weights[0] * parts[0] + weights[1] * parts[1], axis=1), 1e-4, 1)
    return mixed / mixed.sum(axis=1, keepdims=True)


found = {
    (linear, bayes): log_loss(y, mix(held_out, (linear, bayes)))
    for linear in (0.2, 0.4, 0.6, 0.8) for bayes in (0.1, 0.15, 0.2, 0.3)
}
weights = min(found, key=found.get)
print("weights of linear and bayes:", weights, "log loss", round(found[weights], 4))
for_validation, for_test = (mix(parts, weights) for parts in both(texts, y, [validation["text"], test["text"]]))
predicted = mix(held_out, weights)
print("accuracy", (predicted.argmax(1) == y).mean().round(4), "mean probabilities", for_validation.mean(0).round(3), for_test.mean(0).round(3))
submit(for_validation, for_test, predicted)
