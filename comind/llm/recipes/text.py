# Texts: words and characters weighted by rarity, for naive Bayes and a linear model, averaged.
from scipy.sparse import hstack
from skrub import TableVectorizer
from sklearn.ensemble import VotingClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge, SGDClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler


def is_text(column):
    cells = train[column].dropna().astype(str)
    return cells.str.count(" ").mean() >= 3 and cells.nunique() > 0.5 * len(cells)


features = [column for column in test.columns if column not in IDS]
texts = [column for column in features if is_text(column)]
others = [column for column in features if column not in texts]
tables = (train, validation, test)
joined = [part[texts].fillna("").astype(str).agg("\n".join, axis=1) for part in tables]
small = joined[0].str.len().sum() <= 10_000_000

counts = CountVectorizer(ngram_range=(1, 2), lowercase=False, token_pattern=r"(?u)\b\w+\b")
rare = dict(sublinear_tf=True, max_features=200_000)
words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, token_pattern=r"(?u)\b\w+\b|[^\w\s]", **rare)
characters = TfidfVectorizer(analyzer="char", ngram_range=(1, 5), min_df=3, lowercase=False, **rare)
# Encode once for all models: counts, then words, then whatever else there is.
encoders = [counts, words, characters] if small else [counts.set_params(min_df=2), words]
blocks = [
    [encoder.fit_transform(joined[0]), *map(encoder.transform, joined[1:])] for encoder in encoders
]
if others:
    encoder = make_pipeline(TableVectorizer(), SimpleImputer(), MaxAbsScaler()).fit(train[others])
    blocks.append([encoder.transform(part[others]) for part in tables])
x, *parts = (hstack(part, format="csr") for part in zip(*blocks))
after_counts = blocks[0][0].shape[1]
after_words = after_counts + blocks[1][0].shape[1]
outputs = max(
    len(TARGETS), train[LABELS[0]].nunique() if KIND in ("label", "class-probabilities") else 1
)
rounds = int(np.clip(3e9 / (x.nnz * outputs), 20, 300))


def on(start, stop, model):
    """Return a model that looks at some columns only."""
    return make_pipeline(FunctionTransformer(lambda x: x[:, start:stop]), model)


def classifier():
    models = {
        "counts": on(0, after_counts, MultinomialNB(alpha=0.1)),
        "words": on(after_counts, after_words, MultinomialNB(alpha=0.03)),
        "linear": on(after_counts, None, LogisticRegression(C=20, max_iter=rounds)),
    }
    return VotingClassifier(list(models.items()), voting="soft")


def regressor():
    return on(after_counts, None, Ridge(alpha=3.0, solver="sparse_cg", max_iter=rounds))


def many():
    """Return a model of sets of labels; there may be hundreds, so each one learns in few passes."""
    quick = SGDClassifier(loss="log_loss", alpha=1e-6, max_iter=5, tol=None, random_state=SEED)
    return on(after_counts, after_words, OneVsRestClassifier(quick))


hand_in(answers(classifier, regressor, x, parts, many))
