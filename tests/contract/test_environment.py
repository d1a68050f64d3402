"""What code runs in is read from inside the sandbox, where that is not our own environment."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from comind.app.current_environment import current_environment
from comind.domain.resources import StoreFolders
from comind.errors import UsageError
from comind.system.interpreter import python_and_packages


@pytest.mark.parametrize("sandbox", ["bubblewrap", "process"])
def test_the_toolbox_is_named_with_its_packages(
    sandbox: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a toolbox was built, its lock's hash and its packages are told, not ours."""
    box = tmp_path / "box"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(box)], check=True)
    found = next(box.glob("lib/python3*/site-packages")) / "some_package-1.2.dist-info"
    found.mkdir()
    (box / "lock.txt").write_text("some-package==1.2\n")
    monkeypatch.setenv("COMIND_TOOLBOX", str(box))
    environment, _ = current_environment(sandbox, own_code=False)
    assert environment.packages == ("some-package==1.2",)
    assert environment.toolbox == hashlib.sha256(b"some-package==1.2\n").hexdigest()
    monkeypatch.setenv("COMIND_TOOLBOX", "none")
    ours, _ = current_environment(sandbox, own_code=False)
    assert (ours.packages, ours.toolbox) == (python_and_packages()[1], "")


def test_a_store_is_part_of_it(tmp_path: Path) -> None:
    """The user's own models and datasets are listed and hashed; a folder that is gone is told."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "net.pt").write_bytes(b"weights")
    store = StoreFolders(models=str(tmp_path / "models"))
    environment, _ = current_environment("process", own_code=True, store=store)
    assert [item.path for item in environment.models] == ["input/models/net.pt"]
    assert environment.datasets == ()
    gone = StoreFolders(datasets=str(tmp_path / "gone"))
    with pytest.raises(UsageError, match=r"store\.datasets: .*gone is no folder"):
        current_environment("process", own_code=True, store=gone)
