"""Texts: TF-IDF of words and characters, for naive Bayes and a linear model, averaged.

Linear models on counts are a strong baseline on some thousand texts, and take seconds. Other columns of
the table are appended to the word features.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack
from scipy.special import softmax
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import VotingClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, StandardScaler
from skrub import TableVectorizer

from comind.baseline.recipes.answers import Models, answers
from comind.baseline.recipes.family import Family, Fold, Model, all_classes, wrap_sklearn
from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task

WORD = r"(?u)\b\w+\b"
WORD_OR_SIGN = r"(?u)\b\w+\b|[^\w\s]"
SMALL = 10_000_000  # characters; above this, no character n-grams


def predict(task: Task, tables: Tables) -> list[pd.DataFrame]:
    """Return a table of target columns for validation and for test."""
    np.random.seed(task.seed)  # skrub's encoders draw from the global generator
    (x, *parts), after_counts, after_words = encoded(task, tables)
    train, few_values = tables.train, task.answer_kind in ("label", "class-probabilities")
    classes = train[task.label_columns[0]].nunique() if few_values else 1
    outputs = max(len(task.target_columns), classes)
    rounds = int(np.clip(3e9 / (x.nnz * outputs), 20, 300))
    learners = TextModels(after_counts, after_words, rounds, task.seed)
    models = Models(learners.classifier, learners.regressor, learners.label_sets)
    return answers(task, train, models, x, parts)


def encoded(task: Task, tables: Tables) -> tuple[list[Any], int, int]:
    """Return one matrix per table, for all models, and the columns where counts and words end.

    Columns are ordered: counts, words, everything else.
    """
    _, others = text_columns(task, tables)
    texts = joined(task, tables)
    small = texts[0].str.len().sum() <= SMALL
    blocks = [
        [encoder.fit_transform(texts[0]), *map(encoder.transform, texts[1:])]
        for encoder in encoders(small=bool(small))
    ]
    if others:
        encoder = make_pipeline(TableVectorizer(), SimpleImputer(), MaxAbsScaler())
        encoder.fit(tables.train[others])
        blocks.append([encoder.transform(part[others]) for part in tables])
    after_counts = blocks[0][0].shape[1]
    after_words = after_counts + blocks[1][0].shape[1]
    matrices = [hstack(part, format="csr") for part in zip(*blocks, strict=True)]
    return matrices, after_counts, after_words


def is_text(column: "pd.Series[Any]") -> bool:
    """Return whether cells have several words on average, and most are unique."""
    cells = column.dropna().astype(str)
    return bool(cells.str.count(" ").mean() >= 3 and cells.nunique() > 0.5 * len(cells))


def encoders(*, small: bool) -> list[Any]:
    """Return text encoders: counts, TF-IDF of words, and TF-IDF of characters if texts are small."""
    rare: dict[str, Any] = {"sublinear_tf": True, "max_features": 200_000}
    counts = CountVectorizer(ngram_range=(1, 2), lowercase=False, token_pattern=WORD)
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, token_pattern=WORD_OR_SIGN, **rare)
    if not small:
        return [counts.set_params(min_df=2), words]
    characters = TfidfVectorizer(analyzer="char", ngram_range=(1, 5), min_df=3, lowercase=False, **rare)
    return [counts, words, characters]


def on(start: int, stop: int | None, model: Any) -> Any:
    """Return a model on a range of columns."""
    return make_pipeline(FunctionTransformer(lambda x: x[:, start:stop]), model)


@dataclass(frozen=True)
class TextModels:
    """Factories of models on counts, on words, or on everything after counts."""

    after_counts: int
    after_words: int
    rounds: int
    seed: int

    def classifier(self) -> Any:
        """Return a classifier."""
        models = {
            "counts": on(0, self.after_counts, MultinomialNB(alpha=0.1)),
            "words": on(self.after_counts, self.after_words, MultinomialNB(alpha=0.03)),
            "linear": on(self.after_counts, None, LogisticRegression(C=20, max_iter=self.rounds)),
        }
        return VotingClassifier(list(models.items()), voting="soft", verbose=True)

    def regressor(self) -> Any:
        """Return a regressor."""
        return on(self.after_counts, None, Ridge(alpha=3.0, solver="sparse_cg", max_iter=self.rounds))

    def label_sets(self) -> Any:
        """Return a multi-label classifier with few iterations, as labels may be hundreds."""
        quick = SGDClassifier(loss="log_loss", alpha=1e-6, max_iter=5, tol=None, random_state=self.seed)
        return on(self.after_counts, self.after_words, OneVsRestClassifier(quick))


TOPICS = 64


def words_of(task: Task, tables: Tables) -> list[Any]:
    """Return TF-IDF of words and word pairs, and the other columns."""
    return append_other_columns(task, tables, encode_texts(task, tables, encoders(small=True)[1]))


def characters_of(task: Task, tables: Tables) -> list[Any]:
    """Return TF-IDF of character n-grams (2 to 4), and the other columns."""
    characters = encoders(small=True)[2].set_params(ngram_range=(2, 4), max_features=50_000)
    return append_other_columns(task, tables, encode_texts(task, tables, characters))


def counts_of(task: Task, tables: Tables) -> list[Any]:
    """Return counts of words and word pairs."""
    return encode_texts(task, tables, encoders(small=True)[0])


def scaled_topics(task: Task, tables: Tables) -> list[Any]:
    """Return a scaled dense matrix: topics by truncated SVD, text lengths and other columns."""
    words = words_of(task, tables)
    count = min(TOPICS, words[0].shape[1] - 1, words[0].shape[0] - 1)
    topics = TruncatedSVD(max(1, count), n_iter=3, random_state=task.seed)
    dense = [topics.fit_transform(words[0]), *map(topics.transform, words[1:])]
    scale = StandardScaler()
    both = [np.hstack(pair) for pair in zip(dense, map(lengths, joined(task, tables)), strict=True)]
    return [scale.fit_transform(both[0]), *map(scale.transform, both[1:])]


def lengths(texts: "pd.Series[Any]") -> Any:
    """Return text lengths, and frequencies of punctuation and capitals."""
    size = texts.str.len().to_numpy(dtype=float)
    words = texts.str.count(r"\w+").to_numpy(dtype=float)
    shares = [texts.str.count(sign).to_numpy() / (size + 1) for sign in (r"[,;:]", r"[A-Z]", r"[!?]")]
    return np.column_stack([np.log1p(size), np.log1p(words), size / (words + 1), *shares])


def text_columns(task: Task, tables: Tables) -> tuple[list[str], list[str]]:
    """Return the features that are texts, and the other features."""
    features = [column for column in tables.test.columns if column not in task.id_columns]
    texts = [column for column in features if is_text(tables.train[column])]
    return texts, [column for column in features if column not in texts]


def joined(task: Task, tables: Tables) -> list["pd.Series[Any]"]:
    """Return all texts of a row as one, for each table."""
    texts, _ = text_columns(task, tables)
    return [part[texts].fillna("").astype(str).agg("\n".join, axis=1) for part in tables]


def encode_texts(task: Task, tables: Tables, encoder: Any) -> list[Any]:
    """Return the encoded texts of each table; the encoder is fitted on train only."""
    first, *others = joined(task, tables)
    return [csr_matrix(encoder.fit_transform(first)), *map(csr_matrix, map(encoder.transform, others))]


def append_other_columns(task: Task, tables: Tables, views: list[Any]) -> list[Any]:
    """Return encoded texts together with the columns that are not texts."""
    _, others = text_columns(task, tables)
    if not others:
        return views
    np.random.seed(task.seed)  # skrub's encoders draw from the global generator
    encoder = make_pipeline(TableVectorizer(), SimpleImputer(), MaxAbsScaler())
    encoder.fit(tables.train[others])
    columns = [encoder.transform(part[others]) for part in tables]
    return [hstack(pair, format="csr") for pair in zip(views, columns, strict=True)]


def fit_texts(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit a linear model on one fold; larger matrices get fewer iterations."""
    strength = settings["strength"]
    steps = int(min(max(5e8 / (fold.x.nnz * max(1, len(fold.target.classes))), 20), 200))
    if fold.target.classes:
        labels = LogisticRegression(C=1 / strength, max_iter=steps, tol=1e-3)
        return wrap_sklearn(labels.fit(fold.x, fold.y), fold.target)
    numbers = Ridge(10 * strength, solver="sparse_cg", max_iter=steps)
    return wrap_sklearn(numbers.fit(fold.x, fold.y), fold.target)


WORDS = Family(
    encode=words_of,
    fit=fit_texts,
    space={"strength": (0.05, "log", 3e-3, 3.0)},
)
CHARACTERS = WORDS._replace(encode=characters_of)


def fit_counts(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit naive Bayes on one fold, for classes only.

    Naive Bayes takes correlated words as independent evidence, so it is overconfident; `sharpness` is
    the exponent applied to its probabilities.
    """
    model, target = MultinomialNB(alpha=settings["alpha"]).fit(fold.x, fold.y), fold.target

    def predict(x: Any, _: int) -> NDArray[Any]:
        shares = softmax(settings["sharpness"] * model.predict_log_proba(x), axis=1)
        return all_classes(target, model.classes_, shares)

    return Model(predict, 0)


def fit_weighted(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit an NB-SVM on one fold, for classes only; classes without rows get probability 0."""
    there, seen, target = fold.x.sign(), np.unique(fold.y), fold.target
    models = [against_rest(there, fold.y == code, fold.task.seed, settings) for code in seen]

    def predict(x: Any, _: int) -> NDArray[Any]:
        found = np.column_stack([each.predict_proba(x.sign())[:, 1] for each in models]) + 1e-9
        return all_classes(target, seen, found / found.sum(axis=1, keepdims=True))

    return Model(predict, 0)


def against_rest(there: Any, mine: NDArray[Any], seed: int, settings: dict[str, Any]) -> Any:
    """Fit one class against the rest, with words weighted by their log-count ratio."""
    alpha = settings["alpha"]
    inside = alpha + np.asarray(there[mine].sum(axis=0))
    outside = alpha + np.asarray(there[~mine].sum(axis=0))
    weights = np.log(inside / inside.sum()) - np.log(outside / outside.sum())
    weighting = FunctionTransformer(lambda x: x.multiply(weights).tocsr())
    model = LogisticRegression(
        C=1 / settings["strength"], solver="liblinear", random_state=seed, tol=1e-2
    )
    return make_pipeline(weighting, model.set_params(dual=True)).fit(there, mine)


COUNTS = Family(
    encode=counts_of,
    fit=fit_counts,
    space={"alpha": (0.1, "log", 1e-2, 3.0), "sharpness": (0.3, "log", 0.1, 1.0)},
)
WEIGHTED = Family(
    encode=counts_of,
    fit=fit_weighted,
    space={"strength": (0.5, "log", 1e-2, 30.0), "alpha": (1.0, "log", 0.1, 3.0)},
)
