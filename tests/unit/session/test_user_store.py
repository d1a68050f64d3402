"""A store of models and datasets is listed with how to load each, and hashed by content."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.domain.environment import StoreItem
from comind.domain.resources import StoreFolders
from comind.errors import UsageError
from comind.session.user_store import (
    check_store,
    list_store,
    store_inputs,
    store_settings,
)

_TRANSFORMERS = {"model_type": "bert", "architectures": ["BertModel"]}
_TIMM = {"architecture": "resnet18", "num_classes": 10}


def _write(path: Path, content: object = b"weights") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())


def _snapshot(folder: Path, config: object) -> None:
    _write(folder / "config.json", config)
    _write(folder / "model.safetensors")


def _loads(items: tuple[StoreItem, ...]) -> dict[str, tuple[str, str]]:
    return {item.name: (item.format, item.load) for item in items}


def test_each_kind_of_model_is_known(tmp_path: Path) -> None:
    """Snapshots are recognised by their configuration, files by their suffix."""
    _snapshot(tmp_path / "bert", _TRANSFORMERS)
    _snapshot(tmp_path / "timm" / "resnet", _TIMM)
    _snapshot(tmp_path / "minilm", _TRANSFORMERS)
    _write(tmp_path / "minilm" / "modules.json", [])
    _write(tmp_path / "words" / "tokenizer.json", {})
    _write(tmp_path / "own" / "hubconf.py")
    _write(tmp_path / "hub" / "checkpoints" / "resnet18-f37072fd.pth")
    _write(tmp_path / "vit.safetensors")
    _write(tmp_path / "glove.vec")
    _write(tmp_path / "odd.onnx")
    _write(tmp_path / "tf" / "saved_model.pb")
    _write(tmp_path / "nltk_data" / "corpora" / "stopwords.zip")
    found = _loads(list_store("models", tmp_path))
    assert found == {
        "bert": (
            "transformers",
            "transformers.AutoModel.from_pretrained('input/models/bert'); AutoTokenizer the same",
        ),
        "glove.vec": (
            "file",
            "gensim.models.KeyedVectors.load_word2vec_format('input/models/glove.vec')",
        ),
        "hub/checkpoints/resnet18-f37072fd.pth": (
            "torch checkpoint",
            (
                "torch.load('input/models/hub/checkpoints/resnet18-f37072fd.pth', map_location='cpu'); "
                "torch.hub and torchvision find it by its name"
            ),
        ),
        "minilm": (
            "sentence-transformers",
            "sentence_transformers.SentenceTransformer('input/models/minilm')",
        ),
        "nltk_data": ("nltk data", "NLTK_DATA names it: nltk finds what it needs by itself"),
        "odd.onnx": ("file", "open('input/models/odd.onnx', 'rb')"),
        "own": ("torch hub", "torch.hub.load('input/models/own', ENTRY_POINT, source='local')"),
        "tf": ("folder", "1 files: 1 .pb"),
        "timm/resnet": (
            "timm",
            "timm.create_model('local-dir:input/models/timm/resnet', pretrained=True)",
        ),
        "vit.safetensors": (
            "file",
            (
                "safetensors.torch.load_file('input/models/vit.safetensors'), or timm.create_model("
                "ARCHITECTURE, checkpoint_path='input/models/vit.safetensors')"
            ),
        ),
        "words": ("tokenizer", "transformers.AutoTokenizer.from_pretrained('input/models/words')"),
    }


@pytest.mark.parametrize("home", ["", "hub"])
def test_a_hub_cache_is_known(tmp_path: Path, home: str) -> None:
    """A model in the hub's cache is loaded by name if it has `main`, else by path."""
    for name, config in (("models--google--bert", _TRANSFORMERS), ("models--timm--resnet", _TIMM)):
        cached = tmp_path / home / name
        _write(cached / "blobs" / "ab")
        _write(cached / "snapshots" / "c0ffee" / "config.json", config)
        (cached / "snapshots" / "c0ffee" / "model.safetensors").symlink_to("../../blobs/ab")
        _write(cached / "refs" / "main", b"c0ffee")
    (tmp_path / home / "models--timm--resnet" / "refs" / "main").unlink()
    google, timm = list_store("models", tmp_path)
    assert (google.name, google.format) == ("google/bert", "transformers")
    assert google.load.startswith("transformers.AutoModel.from_pretrained('google/bert')")
    assert google.bytes == len(json.dumps(_TRANSFORMERS)) + len(b"weights")
    assert timm.name == "timm/resnet"
    assert timm.load == f"timm.create_model('local-dir:{timm.path}', pretrained=True)"
    assert (tmp_path / timm.path.removeprefix("input/models/")).is_dir()
    settings = store_settings(StoreFolders(models=str(tmp_path)), Path("/workspace"))
    cache = "/workspace/input/models" + (f"/{home}" if home else "")
    assert settings["HF_HUB_CACHE"] == settings["SENTENCE_TRANSFORMERS_HOME"] == cache


def test_datasets_are_what_lies_in_the_folder(tmp_path: Path) -> None:
    """Each file and folder is a dataset; a folder has a summary of its content."""
    _write(tmp_path / "cities.csv")
    _write(tmp_path / "weather" / "a" / "1.parquet")
    _write(tmp_path / "weather" / "b.parquet")
    _write(tmp_path / "weather" / "LICENSE")
    _write(tmp_path / ".hidden")
    assert _loads(list_store("datasets", tmp_path)) == {
        "cities.csv": ("file", "pandas.read_csv('input/datasets/cities.csv')"),
        "weather": ("folder", "3 files: 2 .parquet, 1 without suffix"),
    }


def test_libraries_are_pointed_there(tmp_path: Path) -> None:
    """Each library's variable names its part of the store, by its path inside."""
    for name in ("torch", "nltk_data"):
        (tmp_path / name).mkdir()
    assert store_settings(StoreFolders(models=str(tmp_path)), Path("/workspace")) == {
        "HF_HOME": "/workspace/input/models",
        "HF_HUB_CACHE": "/workspace/input/models/hub",
        "SENTENCE_TRANSFORMERS_HOME": "/workspace/input/models/hub",
        "TORCH_HOME": "/workspace/input/models/torch",
        "NLTK_DATA": "/workspace/input/models/nltk_data",
    }
    assert store_settings(StoreFolders(datasets=str(tmp_path)), Path("/workspace")) == {}


def test_it_is_mounted_at_fixed_places() -> None:
    """Models and datasets are mounted below input/, and only those that are configured."""
    (given,) = store_inputs(StoreFolders(datasets="/data/mine"))
    assert (given.source, given.name, given.linked) == (Path("/data/mine"), "input/datasets", True)


_SIZES = st.sampled_from([0, 1, 1 << 20, (1 << 20) + 1, 3 << 20])


@given(size=_SIZES, fill=st.sampled_from([b"\0", b"x"]))
def test_a_hash_is_of_content_not_of_time(
    tmp_path_factory: pytest.TempPathFactory, size: int, fill: bytes
) -> None:
    """Hashes depend on size and content, not on modification times."""
    folder = tmp_path_factory.mktemp("store")
    path = folder / "weights.bin"
    _write(path, fill * size)
    (before,) = list_store("models", folder)
    os.utime(path, (0, 0))
    assert list_store("models", folder) == (before,)
    _write(path, b"y" + (fill * size)[1:])
    (changed,) = list_store("models", folder)
    assert changed.sha256 != before.sha256
    _write(path, fill * (size + 1))
    (longer,) = list_store("models", folder)
    assert longer.sha256 != before.sha256


def test_the_end_of_a_large_file_counts(tmp_path: Path) -> None:
    """The last block of a large file is hashed, too."""
    content = b"\0" * (5 << 20)
    _write(tmp_path / "weights.bin", content)
    (before,) = list_store("models", tmp_path)
    _write(tmp_path / "weights.bin", content[:-1] + b"x")
    (after,) = list_store("models", tmp_path)
    assert after.sha256 != before.sha256


def test_a_moved_store_is_the_same(tmp_path: Path) -> None:
    """Hashes and paths do not depend on the store's location on the host."""
    for name in ("a", "b"):
        _snapshot(tmp_path / name / "bert", _TRANSFORMERS)
    assert list_store("models", tmp_path / "a") == list_store("models", tmp_path / "b")


def test_a_long_list_is_cut(tmp_path: Path) -> None:
    """Items beyond two hundred are counted, not listed."""
    for number in range(203):
        _write(tmp_path / f"{number:03d}.csv")
    items = list_store("datasets", tmp_path)
    assert len(items) == 201
    assert items[-1].name == "3 more"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    """A missing folder is reported in one line."""
    with pytest.raises(UsageError, match=r"params.yaml: store.models: .*/nowhere is no folder"):
        check_store(StoreFolders(models=str(tmp_path / "nowhere")))


def test_a_link_out_of_the_store_is_named(tmp_path: Path) -> None:
    """A link out of the store is refused, as its target is not mounted."""
    _write(tmp_path / "elsewhere" / "weights.pt")
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "weights.pt").symlink_to(tmp_path / "elsewhere" / "weights.pt")
    with pytest.raises(UsageError, match=r"weights.pt is a link out of the store"):
        list_store("models", tmp_path / "store")


def test_a_private_file_is_named(tmp_path: Path) -> None:
    """A file that the sandbox's user cannot read is reported before an attempt starts."""
    _write(tmp_path / "weights.pt")
    (tmp_path / "weights.pt").chmod(0o600 if os.getuid() == 0 else 0)
    with pytest.raises(UsageError, match=r"weights.pt: .*") as caught:
        list_store("models", tmp_path)
    assert "chmod -R a+rX" in caught.value.hint
