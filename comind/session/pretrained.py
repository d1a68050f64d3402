"""The list of pretrained models that ships: where each comes from, its size, licence and use."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal, get_args

import yaml
from pydantic import TypeAdapter

from comind.domain.value import Value

Kind = Literal["images", "texts", "sounds", "tables", "molecules"]
WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".joblib")
"""Suffixes of weights, the preferred first: of a folder only files of one are needed."""
KINDS: tuple[Kind, ...] = get_args(Kind)


class PretrainedModel(Value):
    """A model of the list."""

    name: str
    """Of a hub's repository, OWNER/NAME, of a file that torch looks for, or of a package."""
    megabytes: float
    """10^6 bytes, of what is fetched."""
    licence: str
    good_for: str
    load: str = ""
    """How to load it, as the store's own lines: a template with `path`; empty: as the store says."""
    files: tuple[str, ...] = ()
    """Those of the repository or package that are needed; empty: what libraries load of a repository."""
    url: str = ""
    package: str = ""
    """A requirement of pip with its version."""

    @property
    def source(self) -> Literal["hub", "file", "package"]:
        """Where it comes from: a repository of a hub, the file at `url`, or `package`."""
        if self.package:
            return "package"
        return "file" if self.url else "hub"


_LIST = TypeAdapter(dict[Kind, tuple[PretrainedModel, ...]])


@cache
def pretrained_models() -> Mapping[Kind, tuple[PretrainedModel, ...]]:
    """Return the models by kind of task."""
    text = Path(__file__).with_name("pretrained.yaml").read_text(encoding="utf-8")
    return _LIST.validate_python(yaml.safe_load(text))


def pretrained_model(name: str) -> PretrainedModel | None:
    """Return the model of this name; None if it is not on the list."""
    return _by_name().get(name)


def kind_of_task(model: PretrainedModel) -> Kind:
    """Return the kind of task under which the list has a model."""
    return next(kind for kind, models in pretrained_models().items() if model in models)


def known_names() -> list[str]:
    """Return the names of the list."""
    return list(_by_name())


@cache
def _by_name() -> dict[str, PretrainedModel]:
    return {model.name: model for models in pretrained_models().values() for model in models}
