"""Define the resources of an attempt's code: interpreter, packages, hardware, the user's models."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, Self

from pydantic import Field

from comind.domain.environment import Environment, StoreItem
from comind.domain.value import Value

MEMORY_SHARE = 0.75
"""Limit of one attempt, as a share of the machine's memory."""

TOOLBOX = {
    "numpy": "numpy",
    "pandas": "pandas",
    "polars": "polars",
    "pyarrow": "pyarrow",
    "scipy": "scipy",
    "scikit-learn": "sklearn",
    "skrub": "skrub",
    "lightgbm": "lightgbm",
    "catboost": "catboost",
    "xgboost-cpu": "xgboost",
    "statsmodels": "statsmodels",
    "optuna": "optuna",
    "imbalanced-learn": "imblearn",
    "category-encoders": "category_encoders",
    "tabicl": "tabicl",
    "tabpfn": "tabpfn",
    "pytabkit": "pytabkit",
    "torch": "torch",
    "torchvision": "torchvision",
    "timm": "timm",
    "transformers": "transformers",
    "sentence-transformers": "sentence_transformers",
    "nltk": "nltk",
    "gensim": "gensim",
    "rapidfuzz": "rapidfuzz",
    "opencv-python-headless": "cv2",
    "scikit-image": "skimage",
    "albumentations": "albumentations",
    "librosa": "librosa",
    "soundfile": "soundfile",
    "pillow": "PIL",
    "networkx": "networkx",
}
"""Packages of requirements/toolbox.in and the names that they are imported by."""


StoreKey = Literal["models", "datasets"]

STORES: dict[StoreKey, str] = {"models": "input/models", "datasets": "input/datasets"}
"""Folders of the user's models and datasets, relative to an attempt's working directory."""


class StoreFolders(Value):
    """Folders of the host with the user's models and datasets, readable in every attempt."""

    models: str | None = None
    """An absolute path; None for no models."""
    datasets: str | None = None

    def named(self) -> Iterator[tuple[StoreKey, str]]:
        """Yield kind and path of each folder that is set."""
        for kind in STORES:
            folder = getattr(self, kind)
            if folder is not None:
                yield kind, folder


class Hardware(Value):
    """GPUs and memory that a machine has, or that a session needs at least."""

    gpus: int = Field(default=0, ge=0)
    memory_gb: int = Field(default=0, ge=0)
    """10^9 bytes."""

    def limited_to(self, kinds: "Sequence[Hardware]") -> "Hardware":
        """Return the part of a need that one of these machines has; GPUs go before memory."""
        gpus = min(self.gpus, max((kind.gpus for kind in kinds), default=0))
        memory = max((kind.memory_gb for kind in kinds if kind.gpus >= gpus), default=0)
        return Hardware(gpus=gpus, memory_gb=min(self.memory_gb, memory))

    def __str__(self) -> str:
        gpus = f"{self.gpus} GPU{'s' if self.gpus != 1 else ''}" if self.gpus else "no GPU"
        return f"{gpus}, {self.memory_gb} GB of memory"


class Resources(Value):
    """Resources of one attempt; recorded when work is planned, so that a replay sees the same."""

    python: str = ""
    """Version of the interpreter."""
    packages: dict[str, str] = {}
    """Version of each package of `TOOLBOX` that is installed."""
    toolbox: str = ""
    """Hash of the toolbox's lock file; empty for CoMind's own environment."""
    cores: int = 1
    """Of one attempt while the most attempts run at once."""
    machine_cores: int = 1
    coders: int = 1
    """The most attempts that run at once and share cores, memory and GPUs."""
    memory_bytes: int = 0
    """Limit of one attempt; the machine's memory is shared."""
    gpus: tuple[str, ...] = ()
    """Names of the machine's GPUs; each is leased to one attempt at a time."""
    models: tuple[StoreItem, ...] = ()
    datasets: tuple[StoreItem, ...] = ()

    @classmethod
    def of(cls, environment: Environment, coders: int, cores: int | None = None) -> Self:
        """Return the resources of an attempt in `environment` when `coders` attempts share it.

        They may use `cores` of its cores, all if None.
        """
        machine = environment.machine
        shared = max(1, machine.cores if cores is None else min(cores, machine.cores))
        return cls(
            python=environment.python,
            packages=toolbox_packages(environment.packages),
            toolbox=environment.toolbox,
            cores=max(1, shared // coders),
            machine_cores=shared,
            coders=coders,
            memory_bytes=int(MEMORY_SHARE * machine.memory_bytes),
            gpus=machine.gpus,
            models=environment.models,
            datasets=environment.datasets,
        )


def toolbox_packages(installed: Iterable[str]) -> dict[str, str]:
    """Return the version of each package of `TOOLBOX` among `name==version` strings."""
    versions = dict(package.split("==", 1) for package in installed if "==" in package)
    return {name: versions[name] for name in TOOLBOX if name in versions}
