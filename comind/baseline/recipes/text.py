"""Texts: TF-IDF of words and characters, for naive Bayes and a linear model, averaged.

Linear models on counts are a strong baseline on some thousand texts, and take seconds. Other columns of
the table are appended to the word features.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import hstack
from sklearn.ensemble import VotingClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler
from skrub import TableVectorizer

from comind.baseline.recipes.answers import Models, answers
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
    features = [column for column in tables.test.columns if column not in task.id_columns]
    texts = [column for column in features if is_text(tables.train[column])]
    others = [column for column in features if column not in texts]
    joined = [part[texts].fillna("").astype(str).agg("\n".join, axis=1) for part in tables]
    small = joined[0].str.len().sum() <= SMALL
    blocks = [
        [encoder.fit_transform(joined[0]), *map(encoder.transform, joined[1:])]
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
        return VotingClassifier(list(models.items()), voting="soft")

    def regressor(self) -> Any:
        """Return a regressor."""
        return on(self.after_counts, None, Ridge(alpha=3.0, solver="sparse_cg", max_iter=self.rounds))

    def label_sets(self) -> Any:
        """Return a multi-label classifier with few iterations, as labels may be hundreds."""
        quick = SGDClassifier(loss="log_loss", alpha=1e-6, max_iter=5, tol=None, random_state=self.seed)
        return on(self.after_counts, self.after_words, OneVsRestClassifier(quick))
