"""A checkpoint of torch comes from its own server, and its name begins its hash."""

import hashlib
from pathlib import Path

import pytest

from comind.adapters.hub.client import HubClient
from comind.errors import HubError
from tests.doubles.hub import Hub

_CONTENT = b"weights"
_DIGEST = hashlib.sha256(_CONTENT).hexdigest()[:8]


def test_a_checkpoint_is_checked_by_its_name(tmp_path: Path) -> None:
    """What has another hash is refused, and so is a file that is not there; neither is left."""
    client = HubClient()
    with Hub() as hub:
        names = (f"net-{_DIGEST}.pth", "net-00000000.pth")
        hub.models["of/torch"] = dict.fromkeys(names, _CONTENT)
        right, wrong = (f"{hub.endpoint}/files/of/torch/{name}" for name in names)
        client.fetch_checkpoint(right, tmp_path / names[0])
        with pytest.raises(HubError, match=r"net-00000000\.pth comes corrupt \(checksum mismatch\)"):
            client.fetch_checkpoint(wrong, tmp_path / names[1])
        with pytest.raises(HubError, match=r"refuses it \(HTTP 404\)"):
            client.fetch_checkpoint(f"{hub.endpoint}/files/of/torch/no.pth", tmp_path / "no.pth")
    assert [path.name for path in tmp_path.iterdir()] == [names[0]]
    assert (tmp_path / names[0]).read_bytes() == _CONTENT
