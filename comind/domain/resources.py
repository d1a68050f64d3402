"""What code that an agent writes can use: interpreter, packages, hardware, the user's own models."""

from collections.abc import Iterable, Iterator

from comind.domain.environment import Environment, StoreItem
from comind.domain.value import Value

__all__ = [
    "MEMORY_SHARE",
    "STORES",
    "TOOLBOX",
    "Resources",
    "StoreFolders",
    "resources_of",
    "toolbox_packages",
]

MEMORY_SHARE = 0.75
"""Of the machine's memory: the limit of one attempt."""

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
"""The packages that requirements/toolbox.in asks for, and the name that each is imported by."""


STORES = {"models": "input/models", "datasets": "input/datasets"}
"""Where an attempt finds the user's own models and datasets, below its working directory."""


class StoreFolders(Value):
    """The user's own store: folders of the host that every attempt can read."""

    models: str | None = None
    """Absolute; None: no models."""
    datasets: str | None = None

    def named(self) -> Iterator[tuple[str, str]]:
        """Yield kind and folder of what there is."""
        for kind in STORES:
            folder = getattr(self, kind)
            if folder is not None:
                yield kind, folder


class Resources(Value):
    """What an attempt has to work with; recorded when work is planned, so a replay sees the same."""

    python: str = ""
    """Version of the interpreter that runs agents' code."""
    packages: dict[str, str] = {}
    """Version by name: those of `TOOLBOX` that this interpreter has."""
    toolbox: str = ""
    """Hash of the lock file of the toolbox that the code runs in; empty: in CoMind's own environment."""
    cores: int = 1
    """Of one attempt, where as many run as may."""
    machine_cores: int = 1
    coders: int = 1
    """How many attempts may run at once and share cores, memory and GPUs."""
    memory_bytes: int = 0
    """Limit of one attempt; the machine's memory is shared."""
    gpus: tuple[str, ...] = ()
    """Names of the machine's GPUs; each belongs to one attempt at a time."""
    models: tuple[StoreItem, ...] = ()
    datasets: tuple[StoreItem, ...] = ()


def resources_of(environment: Environment, coders: int) -> Resources:
    """Return what an attempt of a campaign with so many coders has in `environment`."""
    machine = environment.machine
    return Resources(
        python=environment.python,
        packages=toolbox_packages(environment.packages),
        toolbox=environment.toolbox,
        cores=max(1, machine.cores // coders),
        machine_cores=max(1, machine.cores),
        coders=coders,
        memory_bytes=int(MEMORY_SHARE * machine.memory_bytes),
        gpus=machine.gpus,
        models=environment.models,
        datasets=environment.datasets,
    )


def toolbox_packages(installed: Iterable[str]) -> dict[str, str]:
    """Return the version of each package of `TOOLBOX` among `name==version`."""
    versions = dict(package.split("==", 1) for package in installed if "==" in package)
    return {name: versions[name] for name in TOOLBOX if name in versions}
