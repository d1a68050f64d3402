"""Find near-duplicates among files of rows, and keep them off the other side of a split.

A picture saved again, resized or moved by a pixel has the label of its original. Where test rows have no
such twins in train, validation rows must have none either, or validation is easier than test.

Pictures: perceptual hashes (pHash of Zauner 2010, by imagehash) at most 12 of 64 bits apart, then
difference hashes, then the correlation of both, moved onto each other. Texts: MinHash (Broder 1997, by
datasketch) of 5-character shingles, then their Jaccard similarity. Sounds: equal samples. Any files:
equal bytes.
"""

import functools
import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from comind.competitions.row_files import PLURALS
from comind.splits.file_facts import Compute, compute_saved
from comind.system.hardware import usable_cores

if TYPE_CHECKING:
    from PIL import Image

Labels = npt.NDArray[np.intp]
_Each = Callable[[Compute, Sequence[Path]], Iterable[bytes | None]]
"""Computes a value of each file."""

_HASH_BITS, _MOST_BITS, _BANDS = 64, 12, 9
_MOST_SECOND_BITS = 12  # of 64
_LEAST_ALIKE = 0.9  # correlation of thumbnails
_LEAST_ALIGNED = 0.98  # correlation of larger ones, moved onto each other
_LEAST_CONTRAST = 4.0  # standard deviation of greys; below, a picture is blank to a thumbnail
_SIDE, _LARGE_SIDE = 16, 48  # pixels of a thumbnail, and of a larger one
_LEAST_SIDE = 32  # pixels of a picture; smaller ones look alike without being copies
_MOST_MOVED = 2  # pixels of the larger one
_WINDOW = 512  # hashes compared with each within a band
_SHINGLE, _PERMUTATIONS, _LEAST_SIMILAR = 5, 64, 0.8
_LONGEST = 20_000  # characters of a text, of which shingles are made
_MOST_SHARE = 0.5  # of all files in one cluster
_BLOCK = 1 << 16  # frames of a sound
_CACHED = 250_000
_MOST_COMPARED = 250_000  # files that are not equal


def file_clusters(
    paths: Sequence[Path],
    kind: str,
    *,
    workers: int | None = None,
    saved: Path | None = None,
) -> tuple[Labels, str]:
    """Return the cluster number of each file, shape (files,), and a line on what was given up.

    Files are in one cluster if a chain of near-duplicates connects them; of no kind, only if their
    bytes are equal, which is also what remains where one cluster would hold more than half of the
    files, or for more than 250,000 of them. A file that cannot be decoded has equals by bytes alone.
    Each file is read and decoded once; hashes are saved below the folder `saved`, if there is one.

    Raises:
        OSError: a file cannot be read.
    """
    each = functools.partial(compute_saved, folder=saved, workers=workers or usable_cores())
    equal = list(_equal_files(paths, each))
    if not kind:
        return _connected(len(paths), equal), ""
    # One file of each content is compared.
    content = _connected(len(paths), equal)
    _, firsts = np.unique(content, return_index=True)
    if len(firsts) > _MOST_COMPARED:
        return content, f"of {len(firsts):,} {PLURALS[kind]} only equal files count as one"
    finder = {"image": _similar_images, "text": _similar_texts, "audio": _equal_audio}[kind]
    similar = finder([paths[first] for first in firsts], each)
    pairs = [(int(firsts[one]), int(firsts[other])) for one, other in similar]
    clusters = _connected(len(paths), [*equal, *pairs])
    largest = int(np.bincount(clusters).max(initial=0))
    if pairs and largest > _MOST_SHARE * len(paths):
        return (
            content,
            f"{largest} of {len(paths)} {PLURALS[kind]} look alike; only equal files count as one",
        )
    return clusters, ""


def _connected(count: int, pairs: Sequence[tuple[int, int]]) -> Labels:
    """Return the number of the connected component of each item."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    one, other = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    graph = coo_array((np.ones(len(one), dtype=np.int8), (one, other)), shape=(count, count))
    if not count:
        return np.zeros(0, dtype=np.intp)
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.intp)


def _equal_files(paths: Sequence[Path], each: _Each) -> Iterator[tuple[int, int]]:
    """Yield pairs of files with equal bytes; only files of equal size are read."""
    sizes = [path.stat().st_size for path in paths]
    often = Counter(sizes)
    alike = [number for number, size in enumerate(sizes) if often[size] > 1]
    digests = each(_digest, [paths[number] for number in alike])
    yield from _same(zip(alike, digests, strict=True))


def _same(items: Iterable[tuple[int, object]]) -> Iterator[tuple[int, int]]:
    """Yield each item with the first of the same value; None is no value."""
    first: dict[object, int] = {}
    for number, value in items:
        if value is not None and first.setdefault(value, number) != number:
            yield first[value], number


@functools.lru_cache(_CACHED)
def _digest(path: Path, size: int, changed: int) -> bytes:
    del size, changed
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


@functools.lru_cache(_CACHED)
def _picture(path: Path, size: int, changed: int) -> bytes | None:
    """Return the perceptual and the difference hash of an image, 8 bytes each, and a thumbnail of greys.

    None if it is tiny or cannot be decoded.
    """
    import imagehash
    from PIL import Image

    del size, changed
    grey = _grey(path)
    if grey is None or min(grey.size) < _LEAST_SIDE:
        return None
    hashes = (each(grey).hash for each in (imagehash.phash, imagehash.dhash))
    small = grey.resize((_SIDE, _SIDE), Image.Resampling.BOX)
    return b"".join([*(np.packbits(each).tobytes() for each in hashes), small.tobytes()])


def _grey(path: Path) -> "Image.Image | None":
    """Decode a picture as greys; None if it cannot be decoded."""
    from PIL import Image

    try:
        with Image.open(path) as opened:
            return opened.convert("L")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None


def _similar_images(paths: Sequence[Path], each: _Each) -> Iterator[tuple[int, int]]:
    """Yield pairs of images that look alike, as many as connect them.

    Only those are compared whose hashes are equal in one of 9 bands: all that differ in at most 8 bits,
    and most of the others.
    """
    from scipy.cluster.hierarchy import DisjointSet

    found = {number: data for number, data in enumerate(each(_picture, paths)) if data}
    if not found:
        return
    numbers = np.array([*found])
    read = np.array([np.frombuffer(data, np.uint8) for data in found.values()])
    hashes, second = (read[:, at : at + 8].copy().view(">u8").ravel().astype(np.uint64) for at in (0, 8))
    thumbnails = read[:, 16:]
    sets = DisjointSet(found)
    for left, right in _close_hashes(hashes):
        near = np.bitwise_count(second[left] ^ second[right]) <= _MOST_SECOND_BITS
        near[near] = _correlated(thumbnails[left[near]], thumbnails[right[near]])
        pairs = zip(numbers[left[near]].tolist(), numbers[right[near]].tolist(), strict=True)
        for one, other in pairs:
            if not sets.connected(one, other) and _aligned(paths[one], paths[other]):
                sets.merge(one, other)
                yield one, other


@functools.lru_cache(4_096)
def _large_thumbnail(path: Path) -> npt.NDArray[np.uint8] | None:
    from PIL import Image

    grey = _grey(path)
    if grey is None:
        return None
    return np.asarray(grey.resize((_LARGE_SIDE, _LARGE_SIDE), Image.Resampling.BOX))


def _aligned(one: Path, other: Path) -> bool:
    """Return whether two pictures agree where they overlap, one moved by up to 2 of 48 pixels."""
    first, second = _large_thumbnail(one), _large_thumbnail(other)
    if first is None or second is None:
        return False
    most, inner = _MOST_MOVED, _LARGE_SIDE - 2 * _MOST_MOVED
    middle = first[most : most + inner, most : most + inner].astype(np.float32).ravel()
    middle -= middle.mean()
    windows = np.lib.stride_tricks.sliding_window_view(second, (inner, inner))
    moved = windows.reshape(-1, inner * inner).astype(np.float32)
    spreads = np.sqrt(np.maximum((moved**2).mean(axis=1) - moved.mean(axis=1) ** 2, 0))
    if min(middle.std(), spreads.min()) < _LEAST_CONTRAST:
        return False
    return bool((moved @ middle / len(middle) >= _LEAST_ALIGNED * middle.std() * spreads).any())


def _close_hashes(hashes: npt.NDArray[np.uint64]) -> Iterator[tuple[Labels, Labels]]:
    """Yield positions of pairs of hashes that differ in few bits, in blocks.

    Within a band, each is compared with the 512 that follow, so that the same hash many times costs no
    square; a chain of pairs connects them.
    """
    edges = np.linspace(0, _HASH_BITS, _BANDS + 1).astype(int)
    for low, high in itertools.pairwise(edges.tolist()):
        band = (hashes >> np.uint64(low)) & np.uint64((1 << (high - low)) - 1)
        order = np.lexsort((hashes, band))
        for step in range(1, min(_WINDOW, len(order) - 1) + 1):
            left, right = order[:-step], order[step:]
            same = band[left] == band[right]
            if not same.any():
                break
            left, right = left[same], right[same]
            close = np.bitwise_count(hashes[left] ^ hashes[right]) <= _MOST_BITS
            if close.any():
                yield left[close], right[close]


def _correlated(one: npt.NDArray[np.uint8], other: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Return which thumbnails, shape (pairs, pixels), agree but for brightness and contrast."""
    first, second = (each - each.mean(axis=1, keepdims=True, dtype=np.float32) for each in (one, other))
    spreads = first.std(axis=1), second.std(axis=1)
    clear = np.minimum(*spreads) >= _LEAST_CONTRAST
    product = (first * second).mean(axis=1)
    return np.asarray(clear & (product >= _LEAST_ALIKE * spreads[0] * spreads[1]))


def _similar_texts(paths: Sequence[Path], each: _Each) -> Iterator[tuple[int, int]]:
    """Yield pairs of texts of which most shingles are the same."""
    from datasketch import MinHash, MinHashLSH

    del each
    index = MinHashLSH(threshold=_LEAST_SIMILAR, num_perm=_PERMUTATIONS)
    for number, path in enumerate(paths):
        own = _shingles(path)
        if not own:
            continue
        sketch = MinHash(num_perm=_PERMUTATIONS)
        sketch.update_batch([each.encode() for each in own])
        twin = next(
            (other for other in index.query(sketch) if _jaccard(own, _shingles(paths[other]))), None
        )
        if twin is None:
            index.insert(number, sketch)
        else:
            yield twin, number


@functools.lru_cache(1_000)
def _shingles(path: Path) -> frozenset[str]:
    """Return the shingles of a text in lower case without repeated white space."""
    text = path.read_bytes()[: 4 * _LONGEST].decode(errors="replace")
    words = " ".join(text.lower().split())[:_LONGEST]
    return frozenset(words[n : n + _SHINGLE] for n in range(len(words) - _SHINGLE + 1))


def _jaccard(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= _LEAST_SIMILAR * len(one | other)


def _equal_audio(paths: Sequence[Path], each: _Each) -> Iterator[tuple[int, int]]:
    """Yield pairs of sounds with the same samples, whatever their format says beside them."""
    return _same(enumerate(each(_samples, paths)))


@functools.lru_cache(_CACHED)
def _samples(path: Path, size: int, changed: int) -> bytes | None:
    """Return a hash of a sound's samples and rate; None if it cannot be decoded."""
    import soundfile

    del size, changed
    digest = hashlib.sha256()
    try:
        with soundfile.SoundFile(path) as sound:
            digest.update(f"{sound.samplerate} {sound.channels}".encode())
            for block in sound.blocks(_BLOCK, dtype="int16"):
                digest.update(block.tobytes())
    except (RuntimeError, OSError):
        return None
    return digest.digest()
