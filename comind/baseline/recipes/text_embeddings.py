"""Embeddings of texts by pretrained models of transformers, sentence-transformers and wordllama."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from comind.baseline.recipes.embeddings import BATCH, vectors_of
from comind.baseline.recipes.family import threads
from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task
from comind.baseline.recipes.text import append_other_columns, joined

MOST_TOKENS = 256  # of a text that are read


class EmbeddedTexts(NamedTuple):
    """An encoding of texts by a model, with the other columns beside it."""

    path: str
    """The model's folder."""
    embed: Callable[[str, list[Any]], NDArray[Any]]
    """Returns the vectors of texts by the model at a path."""

    def __call__(self, task: Task, tables: Tables) -> list[Any]:
        """Return a matrix for each table."""
        found = vectors_of(self.path, self.embed, [part.tolist() for part in joined(task, tables)])
        sparse = append_other_columns(task, tables, [csr_matrix(part) for part in found])
        return [part.toarray() for part in sparse]


def by_sentence_transformers(path: str, texts: list[str]) -> NDArray[Any]:
    """Return embeddings of texts by a model of sentence-transformers."""
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # it would end in the line of a result
    torch.set_num_threads(threads())
    model = SentenceTransformer(path, device="cpu").float()
    model.max_seq_length = min(model.max_seq_length or MOST_TOKENS, MOST_TOKENS)
    return np.asarray(model.encode(texts, batch_size=BATCH, show_progress_bar=False))


def by_transformers(path: str, texts: list[str]) -> NDArray[Any]:
    """Return the mean over tokens of the last hidden states of a model of transformers."""
    import torch
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # it would end in the line of a result
    torch.set_num_threads(threads())
    tokenizer = AutoTokenizer.from_pretrained(path)
    model = AutoModel.from_pretrained(path).float().eval()
    most = min(tokenizer.model_max_length, MOST_TOKENS)
    by_length = np.argsort([len(text) for text in texts], kind="stable")  # less padding
    found: list[Any] = [None] * len(texts)
    for start in range(0, len(texts), BATCH):
        rows = by_length[start : start + BATCH]
        tokens = tokenizer(
            [texts[row] for row in rows],
            padding=True,
            truncation=True,
            max_length=most,
            return_tensors="pt",
        )
        with torch.no_grad():
            states = model(**tokens).last_hidden_state
        seen = tokens["attention_mask"].unsqueeze(-1)
        means = ((states * seen).sum(dim=1) / seen.sum(dim=1).clamp(min=1)).numpy()
        for row, mean in zip(rows, means, strict=True):
            found[row] = mean
    return np.array(found)


def by_wordllama(path: str, texts: list[str]) -> NDArray[Any]:
    """Return the mean over tokens of their vectors in the package wordllama."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(f"{path}/l2_supercat_tokenizer_config.json")
    weights = load_file(f"{path}/l2_supercat_256.safetensors")
    vectors = weights["embedding.weight"].astype(np.float32)
    found = np.zeros((len(texts), vectors.shape[1]), dtype=np.float32)
    for row, tokens in enumerate(tokenizer.encode_batch(texts, add_special_tokens=False)):
        if tokens.ids:
            found[row] = vectors[tokens.ids].mean(axis=0)
    return found
