"""Encode texts as TF-IDF of words or characters, as counts, or as topics."""

from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, hstack
from sklearn.decomposition import TruncatedSVD
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from skrub import TableVectorizer

from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task
from comind.baseline.recipes.text import encoders, is_text

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


def topics_for_trees(task: Task, tables: Tables) -> list[Any]:
    """Return the same features as tables."""
    return [pd.DataFrame(part) for part in scaled_topics(task, tables)]


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
