"""Audio: MFCCs over time with speed augmentation, for an SVM and extremely randomized trees.

The mean of each coefficient is subtracted, which removes loudness and the microphone's response. Speed
augmentation makes models robust to other speakers.
"""

from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import soundfile
from numpy.typing import NDArray
from scipy.fft import dct
from scipy.signal import resample_poly, stft
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, VotingClassifier, VotingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from comind.baseline.recipes.answers import FEW_TARGETS, Models, answers
from comind.baseline.recipes.files import side_files
from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task
from comind.competitions.row_files import AUDIO_SUFFIXES

BANDS = 32
CEPSTRA = 13
MOMENTS = 16
SECONDS = 60  # maximum length that is read
SPEEDS = (0.85, 0.92, 1.0, 1.09, 1.18)
FEW_SOUNDS = 3_000  # above this, no speed augmentation
FEW_ROWS = 15_000  # above this, no SVM


def predict(task: Task, tables: Tables) -> list[pd.DataFrame]:
    """Return a table of target columns for validation and for test."""
    sounds = len(tables.train)
    speeds = SPEEDS if sounds <= FEW_SOUNDS else (1.0,)
    ours, held_back, asked = side_files(task, tables, AUDIO_SUFFIXES)
    x = [np.array([features(path, speed) for path in ours]) for speed in speeds]
    parts = [np.array([features(path) for path in paths]) for paths in (held_back, asked)]
    models = Models(
        partial(classifier, task.seed, few=sounds * len(speeds) <= FEW_ROWS),
        partial(
            regressor, task.seed, few=len(task.target_columns) <= FEW_TARGETS and sounds <= FEW_SOUNDS
        ),
    )
    return answers(task, tables.train, models, x, parts)


def mel_filters(bins: int, rate: int) -> NDArray[Any]:
    """Return a mel filter bank: triangular bands, shape (BANDS, bins)."""
    mels = np.linspace(0, 2595 * np.log10(1 + rate * 0.475 / 700), BANDS + 2)
    edges, axis = 700 * (10 ** (mels / 2595) - 1), np.linspace(0, rate / 2, bins)
    rising = (axis - edges[:-2, None]) / (edges[1:-1, None] - edges[:-2, None])
    falling = (edges[2:, None] - axis) / (edges[2:, None] - edges[1:-1, None])
    return np.clip(np.minimum(rising, falling), 0, None)


def features(path: Path | None, speed: float = 1.0) -> NDArray[Any]:
    """Return MFCCs and their slopes at a fixed number of moments, their spread, and the duration."""
    unknown = np.zeros(2 * CEPSTRA * (MOMENTS + 1) + 1)
    if path is None:
        return unknown
    try:
        sound, rate = soundfile.read(path, dtype="float32", always_2d=True, frames=SECONDS * 48_000)
    except soundfile.LibsndfileError as error:
        print(f"{path} is taken as silent: {error}")
        return unknown
    if not len(sound):
        return unknown
    sound = resample_poly(sound.mean(axis=1), int(100 * speed), 100)
    window = max(64, int(0.025 * rate))
    _, _, spectrum = stft(sound, nperseg=min(window, len(sound)), nfft=max(512, window), boundary=None)
    loudness = np.log(mel_filters(len(spectrum), rate) @ np.abs(spectrum) ** 2 + 1e-8)
    level = loudness.mean(axis=0)
    (audible,) = np.nonzero(level >= level.max() - 0.6 * np.ptp(level))  # trim silence at both ends
    loudness = loudness[:, audible[0] : audible[-1] + 1]
    cepstra = dct(loudness, axis=0, norm="ortho")[:CEPSTRA]
    cepstra -= cepstra.mean(axis=1, keepdims=True)  # cepstral mean normalization
    slopes = np.gradient(cepstra, axis=1) if cepstra.shape[1] > 1 else np.zeros_like(cepstra)
    both = np.vstack([cepstra, slopes])
    width = max(1, both.shape[1] // MOMENTS)
    centres = np.linspace(0, both.shape[1] - width, MOMENTS).astype(int)
    moments = np.stack([both[:, start : start + width].mean(axis=1) for start in centres], axis=1)
    return np.concatenate([moments.ravel(), both.std(axis=1), [len(sound) / rate]])


class SpeedAugmented:
    """Fits a model on each recording at several speeds (speed augmentation)."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, x: list[NDArray[Any]], y: Any) -> Self:
        """Fit on the recordings of all speeds as additional rows."""
        y = np.asarray(y)
        self.model.fit(np.vstack(x), np.concatenate([y] * len(x)))
        self.classes_ = getattr(self.model, "classes_", None)
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)


def classifier(seed: int, *, few: bool) -> Any:
    """Return a classifier; the SVM is left out where there are too many rows for it."""
    vectors = make_pipeline(StandardScaler(), PCA(0.99), SVC(C=10, probability=True, random_state=seed))
    models = [("vectors", vectors)] if few else []
    models.append(("trees", ExtraTreesClassifier(500, random_state=seed)))
    return SpeedAugmented(VotingClassifier(models, voting="soft", verbose=True))


def regressor(seed: int, *, few: bool) -> Any:
    """Return a regressor; the SVM is left out where there are too many rows or targets for it."""
    trees = ExtraTreesRegressor(500, random_state=seed)
    if not few:
        return SpeedAugmented(trees)
    return SpeedAugmented(
        VotingRegressor(
            [("trees", trees), ("vectors", make_pipeline(StandardScaler(), SVR(C=10)))], verbose=True
        )
    )


def audio_features(task: Task, tables: Tables) -> list[Any]:
    """Return matrices of MFCCs, their slopes and their spread."""
    heard = side_files(task, tables, AUDIO_SUFFIXES)
    return [np.array([features(path) for path in paths]) for paths in heard]


def scaled_audio(task: Task, tables: Tables) -> list[Any]:
    """Return the same features scaled and decorrelated."""
    train, *parts = audio_features(task, tables)
    sizes = make_pipeline(StandardScaler(), PCA(0.99, random_state=task.seed), StandardScaler())
    return [sizes.fit_transform(train), *map(sizes.transform, parts)]
