"""Text to text: the most frequent answer to the same input, else the best of three retrieval methods.

The methods are the input itself, a span of its words, and the answer to the most similar input; held-out
rows decide. Cells are read as text, as "NA" may be a valid answer.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from sklearn.feature_extraction.text import TfidfVectorizer

from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task


def read_texts(task: Task) -> Tables:
    """Read the tables with every cell as text, "NA" included."""
    paths = [f"{task.folder}/{part}.csv" for part in Tables._fields]
    return Tables(*(pd.read_csv(path, dtype=str, keep_default_na=False) for path in paths))


def predict(task: Task, tables: Tables) -> list[pd.DataFrame]:
    """Return a table of target columns for validation and for test."""
    (train, validation, test), source = prepared(task, tables)
    asked = pd.concat([validation, test], ignore_index=True)
    finder = Retriever(source, task.similarity, task.seed)
    table = pd.DataFrame({target: finder.answer(train, asked, target) for target in task.target_columns})
    return [table[: len(validation)], table[len(validation) :]]


def prepared(task: Task, tables: Tables) -> tuple[Tables, str]:
    """Return the tables with `group` and the whole `input`, and the column with the longest texts."""
    train, _, test = tables
    given = [c for c in test.columns if c not in task.id_columns and not test[c].str.isdecimal().all()]
    inputs = given or list(test.columns)
    groups = [c for c in inputs if len(inputs) > 1 and train[c].nunique() <= 50]
    source = max(set(inputs) - set(groups) or inputs, key=lambda c: train[c].str.len().mean())
    added = [
        part.assign(
            group=part[groups].agg("\n".join, axis=1) if groups else "",
            input=part[inputs].agg("\n".join, axis=1),
        )
        for part in tables
    ]
    return Tables(*added), source


@dataclass(frozen=True)
class Retriever:
    """Retrieves answers; the method is selected on held-out rows."""

    source: str
    similarity: str
    seed: int

    def answer(self, train: pd.DataFrame, asked: pd.DataFrame, target: str) -> "pd.Series[Any]":
        """Return an answer for each requested row."""
        held_back = train.sample(min(5_000, len(train) // 10), random_state=self.seed)
        seen, found = train.drop(held_back.index), most_frequent(train, asked, target)
        trial = held_back[most_frequent(seen, held_back, target).isna()]
        candidates = self.candidates(seen, trial if len(trial) else held_back, target)
        truth = held_back.loc[candidates.index, target]
        values = candidates.apply(
            lambda way: [float(value(self.similarity, *pair)) for pair in zip(truth, way, strict=True)]
        )
        if len(new := asked[found.isna()]):
            found[new.index] = self.candidates(train, new, target)[values.mean().idxmax()]
        return found

    def candidates(self, seen: pd.DataFrame, rows: pd.DataFrame, target: str) -> pd.DataFrame:
        """Return candidate answers, one column per method."""
        source = self.source
        found = {"same": rows[source], "nearest": self.nearest(seen, rows, target)}
        inside = [answer in text for answer, text in zip(seen[target], seen[source], strict=True)]
        if np.mean(inside) > 0.5:
            shares = list(zip(rows[source], word_frequencies(seen, rows, source, target), strict=True))
            for often in (0.2, 0.3, 0.4, 0.5, 0.6):  # thresholds on the frequency of words in answers
                found[f"run {often}"] = [best_span(text, share - often) for text, share in shares]
        return pd.DataFrame(found, index=rows.index)

    def nearest(self, seen: pd.DataFrame, rows: pd.DataFrame, target: str) -> NDArray[Any]:
        """Return the answer to the most similar input by character n-grams."""
        pool = seen.sample(min(len(seen), 400_000_000 // len(rows) + 1), random_state=self.seed)
        coder = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), max_features=200_000)
        known, asked = coder.fit_transform(pool["input"]).T.tocsr(), coder.transform(rows["input"])
        likeness = (asked[at : at + 200] @ known for at in range(0, len(rows), 200))
        best = [np.asarray(part.argmax(axis=1)) for part in likeness]
        answers: NDArray[Any] = pool[target].to_numpy()[np.concatenate(best).ravel()]
        return answers


def value(similarity: str, answer: str, found: str) -> float:
    """Return the score of a found answer against the true one; higher is better."""
    if similarity == "words":
        ours, theirs = set(answer.lower().split()), set(found.lower().split())
        return len(ours & theirs) / max(len(ours | theirs), 1)
    return answer == found if similarity == "whole" else -Levenshtein.distance(answer, found)


def most_frequent(seen: pd.DataFrame, rows: pd.DataFrame, target: str) -> "pd.Series[Any]":
    """Return the most frequent answer to the same input; missing where there is none."""
    counts = seen.value_counts(["input", target]).reset_index().drop_duplicates("input")
    return rows["input"].map(counts.set_index("input")[target])


def word_frequencies(
    seen: pd.DataFrame, rows: pd.DataFrame, source: str, target: str
) -> "pd.Series[Any]":
    """Return, for each row, how often each of its words is part of the answer, by group."""
    words = seen.assign(word=seen[source].str.lower().str.split()).explode("word")
    asked = rows.assign(word=rows[source].str.lower().str.split()).explode("word")
    answers = {text: set(text.lower().split()) for text in seen[target]}
    pairs = zip(words["word"], words[target], strict=True)
    words["inside"] = [word in answers[text] for word, text in pairs]
    counts = words.groupby(["group", "word"])["inside"].agg(["sum", "count"])
    asked = asked.join(counts, on=["group", "word"]).fillna({"sum": 0, "count": 0})
    typical = asked["group"].map(words.groupby("group")["inside"].mean()).fillna(0.0)
    share = (asked["sum"] + 3 * typical) / (asked["count"] + 3)
    return share.groupby(level=0, sort=False).agg(np.array)


def best_span(text: str, gains: NDArray[Any]) -> str:
    """Return the span of words with the largest total gain."""
    sums = np.cumsum([0.0, *gains])
    end = 1 + np.argmax(sums[1:] - np.minimum.accumulate(sums)[:-1])
    return " ".join(text.split()[np.argmin(sums[:end]) : end])
