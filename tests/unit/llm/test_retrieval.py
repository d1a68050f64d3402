"""Retrieval scores: BM25 and cosine similarity."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.errors import ReplyError
from comind.llm.retrieval import bm25, cosines, nearest

TEXTS = [
    "Gradient boosting with target encoding of the categories",
    "A convolutional network on spectrograms",
    "Ridge regression, and boosting of its residuals",
]


def test_words_in_common_decide() -> None:
    """A text that shares more and rarer words with the query scores higher, regardless of case."""
    assert nearest(bm25("BOOSTING with target encoding", TEXTS)) == [0, 2, 1]
    assert nearest(bm25("spectrograms", TEXTS)) == [1, 0, 2]
    scores = bm25("spectrograms", TEXTS)
    assert scores[0] == scores[2] == 0.0 < scores[1]


def test_common_words_and_case_play_no_part() -> None:
    """English stop words do not count."""
    assert bm25("the of and with", TEXTS) == [0.0] * 3


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ("", TEXTS),
        ("!?", TEXTS),
        ("word", ["", "  ", "..."]),
        ("word", []),
        ("unheard of", TEXTS),
        ("🙂", ["🙂", "🙃"]),
    ],
)
def test_nothing_in_common_is_a_tie(query: str, texts: list[str]) -> None:
    """Where no text shares a word with the query, all scores are zero and the order stays."""
    assert bm25(query, texts) == [0.0] * len(texts)
    assert nearest(bm25(query, texts)) == list(range(len(texts)))


def test_words_of_any_script_count() -> None:
    """Words need not be English; in scripts without blanks a whole run is one word."""
    texts = ["Größenordnung der Häuser", "размер дома", "房价 预测", "plain"]
    assert nearest(bm25("HÄUSER", texts))[0] == 0
    assert nearest(bm25("дома", texts))[0] == 1
    assert nearest(bm25("房价", texts))[0] == 2
    assert bm25("房", texts) == [0.0] * 4


def test_equal_texts_keep_their_order() -> None:
    """Ties keep the order of the texts."""
    assert nearest(bm25("boosting", ["boosting"] * 5)) == [0, 1, 2, 3, 4]
    assert nearest([0.5, 1.0, 0.5, 1.0]) == [1, 3, 0, 2]


def test_a_very_long_text_is_read_to_its_end() -> None:
    """BM25 truncates nothing, and length alone does not raise a score."""
    long = "filler " * 200_000 + "needle"
    assert nearest(bm25("needle", ["other", long, "needle"])) == [2, 1, 0]


@given(st.text(), st.lists(st.text(), max_size=12))
def test_an_order_is_a_permutation(query: str, texts: list[str]) -> None:
    """The order is a permutation for any texts, and the same every time."""
    scores = bm25(query, texts)
    assert sorted(nearest(scores)) == list(range(len(texts)))
    assert bm25(query, texts) == scores


def test_nothing_is_written_and_nothing_compiled(tmp_path: Path) -> None:
    """BM25 writes no file, prints and logs nothing, and loads neither numba nor jax."""
    program = (
        "import logging, sys; logging.basicConfig(level=logging.DEBUG)\n"
        "from comind.llm.retrieval import bm25\n"
        "assert bm25('b c', ['aa bb', 'bb cc'] * 100)\n"
        "assert not {'numba', 'jax'} & set(sys.modules)"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not list(tmp_path.iterdir())


def test_the_angle_decides_and_not_the_length() -> None:
    """Similarity depends on the direction of vectors only."""
    assert cosines([[1, 0], [5, 0], [0, 3], [-2, 0], [1, 1]], 4) == [1.0, 0.0, -1.0, 0.707107]
    assert cosines([[1e300, 0], [1e-300, 0], [5e-324, 0]], 2) == [1.0, 1.0]


@pytest.mark.parametrize(
    ("vectors", "says"),
    [
        (None, "shape"),
        ([], "shape"),
        ([[1.0, 2.0]], r"for 2 texts came embeddings of the shape \(1, 2\)"),
        ([[1.0, 2.0]] * 3, r"for 2 texts came embeddings of the shape \(3, 2\)"),
        ([[1.0, 2.0], [1.0]], "not equally long"),
        ([[[1.0]], [[1.0]]], "shape"),
        ([1.0, 2.0], "shape"),
        ([[], []], "shape"),
        ([["a"], ["b"]], "lists of numbers"),
        (["AAAA", "BBBB"], "lists of numbers"),
        ([[1.0], {"embedding": 1}], "lists of numbers"),
        ([[1.0], [float("nan")]], "no finite number"),
        ([[1.0], [None]], "no finite number"),
        ([[1.0], [float("inf")]], "no finite number"),
        ([[1.0], [10**400]], "lists of numbers"),
        ([[1.0], [0.0]], "an embedding is zero"),
        ([[0.0], [1.0]], "an embedding is zero"),
    ],
)
def test_a_lying_server_is_told(vectors: object, says: str) -> None:
    """Too few, too many, unequal, zero and infinite vectors are errors that name the fault."""
    with pytest.raises(ReplyError, match=says):
        cosines(vectors, 1)


Numbers = st.floats(allow_nan=True, allow_infinity=True) | st.integers() | st.none()


@given(st.lists(st.lists(Numbers, min_size=2, max_size=2), min_size=3, max_size=3))
def test_whatever_comes_is_numbers_or_an_error(vectors: list[list[float]]) -> None:
    """Cosines are between -1 and 1, or an error is raised."""
    try:
        found = cosines(vectors, 2)
    except ReplyError:
        return
    assert all(-1.000001 <= each <= 1.000001 for each in found)
