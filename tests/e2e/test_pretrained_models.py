"""`comind store` through the real command line: models come from a hub, or out of packages."""

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from comind.domain.resources import STORES
from tests.doubles.hub import REVISION, Hub
from tests.doubles.small_disk import small_disk
from tests.e2e.command import Ran, comind
from tests.unit.session.wheels import make_wheel

_NET = "timm/resnet18.a1_in1k"
_WEIGHTS = b"weights " * 40_000
_FILES = {
    ".gitattributes": b"*.bin filter=lfs",
    "README.md": b"---\nlicense: apache-2.0\n---\n",
    "config.json": json.dumps({"architecture": "resnet18", "num_classes": 1000}).encode(),
    "model.safetensors": _WEIGHTS,
    "pytorch_model.bin": b"the same again",
    "onnx/model.onnx": b"another runtime",
}


@pytest.fixture
def hub() -> Iterator[Hub]:
    """A hub with one model."""
    with Hub() as hub:
        hub.models[_NET], hub.licences[_NET] = dict(_FILES), "apache-2.0"
        yield hub


class _Project:
    """A project whose store is an empty folder, which is not made yet."""

    def __init__(self, folder: Path, endpoint: str) -> None:
        self.folder, self.models = folder, folder / "models"
        (folder / "params.yaml").write_text(f"store: {{models: {self.models}}}\n")
        self._env = {"HF_ENDPOINT": endpoint, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder)}

    def run(self, *words: str, **env: str) -> Ran:
        """Run `comind store` in the project."""
        return comind("store", *words, "--out", self.folder, cwd=self.folder, **self._env, **env)

    def files(self) -> dict[str, bytes]:
        """Return the files of the store that attempts are told of."""
        paths = [path for path in self.models.rglob("*") if path.is_file()]
        names = {path: path.relative_to(self.models).as_posix() for path in paths}
        return {name: path.read_bytes() for path, name in names.items() if not name.startswith(".")}


@pytest.fixture
def project(tmp_path: Path, hub: Hub) -> _Project:
    """A project, and the hub in its environment."""
    return _Project(tmp_path, hub.endpoint)


def test_a_model_comes_from_a_hub(project: _Project, hub: Hub) -> None:
    """Size and licence are told first, what libraries load is fetched, and it is found by its name."""
    ran = project.run("add", _NET, "--json")
    assert ran.exit_code == 0
    assert f"{_NET}: 0.3 MB, licence: apache-2.0, from {hub.endpoint}" in ran.stderr.splitlines()
    [added] = ran.json["added"]
    assert added["load"] == f"timm.create_model('hf-hub:{_NET}', pretrained=True)"
    assert added["about"].endswith("features of 512 numbers; licence: apache-2.0")
    snapshot = f"hub/models--timm--resnet18.a1_in1k/snapshots/{REVISION}"
    assert added["path"] == f"{STORES['models']}/{snapshot}"
    wanted = ("README.md", "config.json", "model.safetensors")
    assert project.files() == {
        **{f"{snapshot}/{name}": _FILES[name] for name in wanted},
        "hub/models--timm--resnet18.a1_in1k/refs/main": REVISION.encode(),
    }
    asked = len(hub.requests)
    assert project.run("add", _NET, "--json").json["there"] == [_NET]
    assert len(hub.requests) == asked
    listed = project.run("list", "--json").json
    assert listed["models"]["items"] == [added]
    there = [each["name"] for each in listed["recommended"]["images"] if each["there"]]
    assert there == [_NET]


def test_any_model_of_the_hub_can_be_named(project: _Project, hub: Hub) -> None:
    """A model that is not on the list has the licence of its card, or none."""
    hub.models["me/words"] = {"config.json": b'{"model_type": "bert"}', "pytorch_model.bin": b"w"}
    ran = project.run("add", "me/words")
    assert ran.exit_code == 0
    assert f"me/words: 0.0 MB, licence: none stated, from {hub.endpoint}" in ran.stderr
    assert "transformers.AutoModel.from_pretrained('me/words')" in ran.stdout


def test_a_broken_connection_is_resumed(project: _Project, hub: Hub) -> None:
    """A file that is cut off goes on where it was; after a failure the next call does so, too."""
    hub.cut = 2
    hub.models[_NET] = {"model.safetensors": _WEIGHTS}
    assert project.run("add", _NET).exit_code == 0
    begins = [headers.get("range") for headers in hub.headers_of("/files/")]
    assert begins == [None, f"bytes={len(_WEIGHTS) // 2}-", f"bytes={len(_WEIGHTS) * 3 // 4}-"]


def test_no_half_model_is_listed(project: _Project, hub: Hub) -> None:
    """A fetch that fails leaves nothing for attempts; the next one goes on where it was."""
    hub.models["me/large"] = {"config.json": b"{}", "model.safetensors": _WEIGHTS}
    hub.down_after = 2
    ran = project.run("add", "me/large")
    assert ran.exit_code == 4
    [line] = ran.error_lines
    assert "the connection to localhost fails" in line
    assert project.files() == {}
    assert project.run("list", "--json").json["models"]["items"] == []
    hub.down_after, hub.requests = None, []
    assert project.run("add", "me/large").exit_code == 0
    [headers] = hub.headers_of("/files/")
    assert headers["range"] == f"bytes={len(_WEIGHTS) // 2}-"
    assert any("large" in name for name in project.files())


def test_what_comes_is_checked(project: _Project, hub: Hub) -> None:
    """Another content than the hub tells is fetched once more, then refused; nothing is listed."""
    hub.corrupt = 1
    assert project.run("add", _NET).exit_code == 0
    hub.models["me/other"] = {"model.safetensors": _WEIGHTS}
    hub.corrupt = 2
    ran = project.run("add", "me/other")
    assert ran.exit_code == 4
    assert ran.error_lines == ["comind: me/other: model.safetensors comes corrupt (checksum mismatch)"]
    assert not any("other" in name for name in project.files())


def test_the_token_reaches_the_hub_alone(project: _Project, hub: Hub) -> None:
    """`HF_TOKEN` is sent to the hub, not to the host of its files, and not printed."""
    ran = project.run("add", _NET, HF_TOKEN="hf_secret_of_mine")
    assert ran.exit_code == 0
    assert [each["authorization"] for each in hub.headers_of("/api/")] == ["Bearer hf_secret_of_mine"]
    assert all("authorization" not in each for each in hub.headers_of("/files/"))
    assert "secret" not in ran.stdout + ran.stderr


def test_a_package_gives_its_weights(project: _Project, hub: Hub) -> None:
    """The files of the list are copied out of the wheel, and no hub is asked."""
    data = {"silero_vad/data/silero_vad.jit": "speech", "silero_vad/other.onnx": "no"}
    make_wheel(project.folder, "silero_vad", "6.2.3", data=data)
    ran = project.run("add", "silero-vad")
    assert ran.exit_code == 0
    assert "silero-vad: 2.3 MB, licence: mit, from the package silero-vad==6.2.3" in ran.stderr
    assert project.files() == {"silero-vad/silero_vad.jit": b"speech"}
    [item] = project.run("list", "--json").json["models"]["items"]
    assert (item["name"], item["kind"]) == ("silero-vad", "folder")
    assert item["load"].startswith("torch.jit.load('input/models/silero-vad/silero_vad.jit')")
    assert hub.requests == []


def test_without_a_hub_a_kind_is_added_as_far_as_packages_go(tmp_path: Path) -> None:
    """A hub that is missing is one line, and exit code 4; what packages ship is there."""
    with socket.socket() as taken:  # bound, and not listening: nobody else gets the port
        taken.bind(("127.0.0.1", 0))
        project = _Project(tmp_path, f"http://127.0.0.1:{taken.getsockname()[1]}")
        make_wheel(tmp_path, "silero_vad", "6.2.3", data={"silero_vad/data/silero_vad.jit": "speech"})
        ran = project.run("add", "--recommended", "sounds", "--json")
    assert ran.exit_code == 4
    [line] = ran.error_lines
    assert "the connection to http://127.0.0.1:" in line
    assert "HF_ENDPOINT names another hub" in ran.stderr
    assert [each["name"] for each in ran.json["added"]] == ["silero-vad"]
    failed = ran.json["failed"]
    assert len(failed) == 4
    assert {each["message"] for each in failed} == {line.removeprefix("comind: ")}


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("add", "timm/nothing"), 2, "timm/nothing: 127.0.0.1 has no such model"),
        (("add", "me/gated"), 4, "me/gated: 127.0.0.1 gives it only to those who have accepted"),
        (("add", "me/text"), 2, "me/text: has no weights that transformers"),
        (("add", "me/.."), 2, "me/..: is neither on the list nor OWNER/NAME of a hub"),
        (("add", "resnet"), 2, "resnet: is neither on the list nor OWNER/NAME of a hub"),
        (("add", "silero-vda"), 2, "of a hub; did you mean silero-vad?"),
        (("add", "silero-vad"), 4, "silero-vad==6.2.3: pip cannot fetch it ("),
        (("add", "Prior-Labs/TabPFN-v2-reg"), 4, "has no tabpfn-v2-regressor.ckpt of it"),
        (("add",), 2, "name models, or --recommended KIND"),
        (("add", _NET, "--recommended", "texts"), 2, "name models, or --recommended KIND"),
        (("add", "--recommended", "image"), 2, "'image' is no kind of task; did you mean images?"),
    ],
)
def test_what_cannot_be_added(
    words: tuple[str, ...], code: int, message: str, project: _Project, hub: Hub
) -> None:
    """Each reason is one line, with a hint."""
    hub.models["me/gated"], hub.models["me/text"] = dict(_FILES), {"README.md": b"text"}
    hub.models["Prior-Labs/TabPFN-v2-reg"] = dict(_FILES)
    hub.gated.add("me/gated")
    ran = project.run(*words, "--json")
    assert ran.exit_code == code
    [line] = ran.error_lines
    assert message in line
    assert ran.json["error"]["hint"]
    assert project.files() == {}


def test_a_model_that_is_too_large_stops_no_other(project: _Project, hub: Hub) -> None:
    """Its failure is told beside what was added; the exit code is that of a disk."""
    hub.models["me/large"], hub.sizes["me/large"] = {"model.safetensors": _WEIGHTS}, 10**17
    ran = project.run("add", "me/large", _NET, "--json")
    assert ran.exit_code == 4
    assert [each["name"] for each in ran.json["added"]] == [_NET]
    [failed] = ran.json["failed"]
    assert (failed["name"], ran.json["error"]["kind"]) == ("me/large", "disk")
    assert "me/large is fetched with" in failed["message"]


def test_a_full_disk(project: _Project, hub: Hub) -> None:
    """Nothing is fetched, and each model has failed for that reason."""
    with small_disk(project.models, 1 << 24):
        ran = project.run("add", _NET, "me/other", "--json")
    assert ran.exit_code == 4
    assert [each["name"] for each in ran.json["failed"]] == [_NET, "me/other"]
    assert f"{_NET} is fetched with" in ran.json["error"]["message"]
    assert hub.headers_of("/files/") == []


def test_a_card_writes_no_control_characters(project: _Project, hub: Hub) -> None:
    """The licence that a card states is one printable line, and not a long one."""
    hub.licences[_NET] = "mit\x1b]0;title\x07\nall is well\u202e" + 500 * "a"
    ran = project.run("add", _NET)
    assert ran.exit_code == 0
    [line] = [line for line in ran.stderr.splitlines() if "licence" in line]
    assert "licence: mit ]0;title all is well aaa" in line
    assert line.isprintable()
    assert len(line) < 300


def test_a_part_of_a_cache_is_completed(project: _Project, hub: Hub) -> None:
    """A cache without weights of its main revision is not there; the rest of it is kept."""
    cached = project.models / "hub" / "models--timm--resnet18.a1_in1k"
    other = cached / "snapshots" / "other" / "model.safetensors"
    half = cached / "snapshots" / REVISION / "config.json"
    for path, text in ((other, "weights"), (half, ""), (cached / "refs" / "main", REVISION)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    listed = project.run("list", "--json").json["recommended"]["images"]
    assert not any(each["there"] for each in listed)
    assert project.run("add", _NET).exit_code == 0
    assert half.read_bytes() == _FILES["config.json"]
    assert half.with_name("model.safetensors").read_bytes() == _WEIGHTS
    assert other.read_text() == "weights"
    assert project.run("add", _NET, "--json").json["there"] == [_NET]


@pytest.mark.skipif(os.getuid() != 0, reason="attempts run as another user only under root")
@pytest.mark.parametrize("below", ["", "hub"])
def test_a_private_folder_stays_private(below: str, project: _Project, hub: Hub) -> None:
    """A folder that attempts cannot read is told before anything is fetched, with what opens it."""
    private = project.models / below
    private.mkdir(parents=True)
    private.chmod(0o700)
    ran = project.run("add", _NET)
    assert ran.exit_code == 2
    assert f"{private}: is not readable for other users" in ran.stderr
    assert f"chmod -R a+rX {project.models}" in ran.stderr
    assert private.stat().st_mode & 0o777 == 0o700
    assert hub.requests == []


def test_a_folder_of_a_call_that_is_in_the_way(project: _Project) -> None:
    """What cannot be written in `.incoming` is one line."""
    (project.models / ".incoming" / "lock").mkdir(parents=True)
    ran = project.run("add", _NET)
    assert ran.exit_code == 2
    [line] = ran.error_lines
    assert "params.yaml: store.models: " in line
    assert ".incoming/lock cannot be written (Is a directory)" in line


@pytest.mark.parametrize(
    ("status", "reason", "token", "code", "message"),
    [
        (401, "", "hf_secret_of_mine", 4, "127.0.0.1 refuses the token"),
        (401, "RepoNotFound", "hf_secret_of_mine", 2, "does not show it to the account of HF_TOKEN"),
        (401, "", "", 2, "does not show it without HF_TOKEN"),
        (403, "", "", 4, "127.0.0.1 refuses it (HTTP 403)"),
        (401, "GatedRepo", "", 4, "gives it only to those who have accepted its terms"),
    ],
)
def test_a_refusal_has_its_reason(
    status: int, reason: str, token: str, code: int, message: str, project: _Project, hub: Hub
) -> None:
    """A token that is refused, terms that are not accepted and any other refusal differ."""
    hub.refusal = status, {"X-Error-Code": reason}
    ran = project.run("add", _NET, HF_TOKEN=token)
    assert ran.exit_code == code
    [line] = ran.error_lines
    assert message in line


def test_a_store_that_is_not_named(tmp_path: Path) -> None:
    """Without a folder for models nothing is fetched; the list of recommended models needs none."""
    ran = comind("store", "add", _NET, "--out", tmp_path)
    assert ran.exit_code == 2
    assert "params.yaml: store.models is null" in ran.stderr
    assert "comind init makes the file" in ran.stderr
    listed = comind("store", "list", "--out", tmp_path)
    assert listed.exit_code == 0
    assert "models: none, as store.models in params.yaml is null" in listed.stdout
    assert "recommended for molecules: comind store add NAME" in listed.stdout


def test_a_proxy_that_is_none(project: _Project) -> None:
    """It is one line."""
    ran = project.run("add", _NET, HTTPS_PROXY="gopher://127.0.0.1:1")
    assert ran.exit_code == 2
    assert "the proxy in the environment cannot be used" in ran.stderr


@pytest.mark.parametrize(
    ("endpoint", "message"),
    [
        ("hub.example.org", "HF_ENDPOINT: hub.example.org is no address"),
        ("http://hub.example.org", "HF_TOKEN: is not sent to http://hub.example.org"),
    ],
)
def test_addresses_that_are_refused(endpoint: str, message: str, tmp_path: Path) -> None:
    """A hub needs a URL, and a token an encrypted one."""
    ran = _Project(tmp_path, endpoint).run("add", _NET, HF_TOKEN="hf_secret_of_mine")
    assert ran.exit_code == 2
    assert message in ran.stderr


def test_a_package_needs_no_hub(tmp_path: Path) -> None:
    """An address that is none does not stop what comes from packages."""
    project = _Project(tmp_path, "hub.example.org")
    make_wheel(tmp_path, "silero_vad", "6.2.3", data={"silero_vad/data/silero_vad.jit": "speech"})
    ran = project.run("add", "silero-vad", _NET, "--json")
    assert ran.exit_code == 2
    assert [each["name"] for each in ran.json["added"]] == ["silero-vad"]
    assert [each["name"] for each in ran.json["failed"]] == [_NET]
