"""Of a repository, the files that libraries load are fetched."""

from comind.adapters.hub.client import HubFile
from comind.app.model_store import needed_files

_REPOSITORY = (
    *(".gitattributes", "README.md", "config.json", "tokenizer.json", "spiece.model", "modeling_own.py"),
    *("model.safetensors", "pytorch_model.bin", "tf_model.h5", "flax_model.msgpack", "rust_model.ot"),
    *("1_Pooling/config.json", "2_Dense/pytorch_model.bin", "picture.png"),
    *("onnx/model.onnx", "onnx/config.json", "openvino/openvino_model.bin"),
)


def _needed(*names: str, named: tuple[str, ...] = ()) -> list[str]:
    return [file.name for file in needed_files([HubFile(name=name) for name in names], named)]


def test_what_libraries_load_is_needed() -> None:
    """Configuration, tokenizers, code, and of each folder's weights those of the best form."""
    assert _needed(*_REPOSITORY) == [
        *("README.md", "config.json", "tokenizer.json", "spiece.model", "modeling_own.py"),
        *("model.safetensors", "1_Pooling/config.json", "2_Dense/pytorch_model.bin"),
    ]


def test_older_weights_are_needed_where_there_are_no_others() -> None:
    """Without safetensors it is the next form."""
    assert _needed("a.ckpt", "training_args.bin", "pytorch_model.bin", "optimizer.pt") == [
        "training_args.bin",
        "pytorch_model.bin",
    ]


def test_named_files_alone_are_needed() -> None:
    """With the model's card, which has the licence."""
    names = ("README.md", "new.ckpt", "old.ckpt", "config.json")
    assert _needed(*names, named=("new.ckpt",)) == ["README.md", "new.ckpt"]
