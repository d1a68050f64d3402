"""Near-duplicate files are found, and unrelated ones are not."""

from pathlib import Path

import numpy as np
import pytest
import soundfile
from PIL import Image, ImageFilter

from comind.splits.near_duplicates import file_clusters
from tests.unit.splits.pictures import picture, shifted


def same(clusters: np.ndarray, first: int, second: int) -> bool:
    return bool(clusters[first] == clusters[second])


def saved(image: Image.Image, path: Path, **how: int) -> Path:
    image.save(path, **how)
    return path


def test_copies_of_pictures(tmp_path: Path) -> None:
    """Resized, re-encoded, blurred and brightened copies are all found, shifted ones nearly all."""
    paths = []
    for seed in range(30):
        image = picture(seed)
        copies = [
            image,
            shifted(image),
            image.resize((96, 96), Image.Resampling.BILINEAR),
            image.filter(ImageFilter.GaussianBlur(1)),
            image.point(lambda grey: min(255, int(grey * 0.9) + 8)),
        ]
        paths += [saved(copy, tmp_path / f"{seed}-{n}.png") for n, copy in enumerate(copies)]
        paths.append(saved(image, tmp_path / f"{seed}.jpg", quality=60))
    clusters, note = file_clusters(paths, "image")
    assert note == ""
    of_originals = clusters.reshape(30, 6) == clusters[::6, None]
    assert of_originals[:, [0, 2, 3, 4, 5]].all()
    assert of_originals[:, 1].mean() >= 0.9
    assert len(set(clusters[::6])) == 30


def test_noise_and_blank_pictures(tmp_path: Path) -> None:
    """Unrelated noise is apart; blank pictures are one only where their bytes are equal."""
    draw = np.random.default_rng(0)
    noise = [Image.fromarray(draw.integers(0, 256, (32, 32), np.uint8)) for _ in range(100)]
    blank = [Image.new("L", (32, 32), grey) for grey in (0, 128, 255, 128)]
    paths = [saved(image, tmp_path / f"{n}.png") for n, image in enumerate(noise + blank)]
    clusters, _ = file_clusters(paths, "image")
    assert len(set(clusters)) == 103
    assert same(clusters, 101, 103)


def test_tiny_pictures(tmp_path: Path) -> None:
    """Pictures of few pixels look alike by chance; only equal files count as one."""
    image = picture(0, side=20)
    copies = [image, image.point(lambda grey: grey // 2), image, picture(1, side=20)]
    paths = [saved(each, tmp_path / f"{n}.png") for n, each in enumerate(copies)]
    clusters, _ = file_clusters(paths, "image")
    assert len(set(clusters)) == 3
    assert same(clusters, 0, 2)


def test_pictures_that_are_none(tmp_path: Path) -> None:
    """Files that cannot be decoded are compared by their bytes; no file is needed at all."""
    for name, content in (("a.png", b"x"), ("b.png", b"x"), ("c.png", b"y")):
        (tmp_path / name).write_bytes(content)
    clusters, _ = file_clusters(sorted(tmp_path.iterdir()), "image")
    assert same(clusters, 0, 1)
    assert not same(clusters, 0, 2)
    assert file_clusters([], "image")[0].shape == (0,)


def test_one_cluster_of_most_files(tmp_path: Path) -> None:
    """Where most pictures look alike, only equal files are near-duplicates, and a line says so."""
    image = picture(0)
    copies = [image.point(lambda grey, n=n: max(0, grey - n)) for n in range(8)]
    paths = [
        saved(each, tmp_path / f"{n}.png") for n, each in enumerate([*copies, copies[0], picture(1)])
    ]
    clusters, note = file_clusters(paths, "image")
    assert len(set(clusters)) == 9
    assert same(clusters, 0, 8)
    assert note == "9 of 10 images look alike; only equal files count as one"


def test_texts(tmp_path: Path) -> None:
    """Texts with few changed words are in one cluster."""
    draw = np.random.default_rng(0)
    texts = [" ".join(f"{word:x}" for word in draw.integers(0, 1 << 20, 120)) for _ in range(20)]
    copies = [text.upper().replace(" ", "\n", 5) + " end" for text in texts]
    for number, text in enumerate([*texts, *copies, "", "a", "b"]):
        (tmp_path / f"{number:02d}.txt").write_text(text)
    clusters, _ = file_clusters(sorted(tmp_path.iterdir()), "text")
    assert clusters[:20].tolist() == clusters[20:40].tolist()
    assert len(set(clusters)) == 23


def test_sounds(tmp_path: Path) -> None:
    """The same samples in another container are one sound."""
    draw = np.random.default_rng(0)
    for number in range(3):
        samples = draw.integers(-20_000, 20_000, 4_000, np.int16)
        for suffix in ("wav", "flac"):
            soundfile.write(tmp_path / f"{number}.{suffix}", samples, 8_000, subtype="PCM_16")
    clusters, _ = file_clusters(sorted(tmp_path.iterdir()), "audio")
    assert clusters[::2].tolist() == clusters[1::2].tolist()
    assert len(set(clusters)) == 3


@pytest.mark.parametrize("kind", ["", "image", "text", "audio"])
def test_equal_files_of_any_kind(tmp_path: Path, kind: str | None) -> None:
    """Equal bytes are one file, under whatever name."""
    for name, content in (("a.bin", b"12345"), ("b.dcm", b"12345"), ("c.bin", b"54321")):
        (tmp_path / name).write_bytes(content)
    clusters, _ = file_clusters(sorted(tmp_path.iterdir()), kind)  # type: ignore[arg-type]
    assert same(clusters, 0, 1)
    assert not same(clusters, 0, 2)
