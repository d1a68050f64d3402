"""The product's own image, built here without a registry, runs a session."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from comind.session.docker import DockerSandbox
from comind.session.kernel_session import KernelSession
from comind.session.session_ports import CellStatus
from tests.engine import ROOT, docker, script

_WANTED = ("ipykernel", "numpy")


@pytest.fixture
def image(engine: str, tmp_path: Path) -> Iterator[str]:
    """The Dockerfile over this machine's own packages, with a small part of the pinned ones."""
    pins = (ROOT / "requirements" / "toolbox.txt").read_text().splitlines()
    wanted = tmp_path / "requirements.txt"
    wanted.write_text("".join(f"{line}\n" for line in pins if line.partition("==")[0] in _WANTED))
    wheels = tmp_path / "wheels"
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(wheels)]
    subprocess.run(
        [*fetch, "--requirement", str(wanted), "--constraint", str(ROOT / "requirements/toolbox.txt")],
        check=True,
        env=dict(os.environ),
    )
    tag, base = f"comind-test-image:{os.getpid()}", f"comind-test-base:{os.getpid()}"
    made = script("base-image.sh", base, DOCKER_HOST=engine)
    assert made.returncode == 0, made.stderr
    made = script(
        "build.sh",
        tag,
        BASE_IMAGE=base,
        WHEELS=str(wheels),
        REQUIREMENTS=str(wanted),
        DOCKER_HOST=engine,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    yield tag
    docker(engine, "rmi", tag, base)


@pytest.mark.torture  # builds an image, with packages from an index
def test_a_cell_runs_in_the_products_image(
    image: str, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of this machine is mounted; the session has the pinned packages and is nobody."""
    monkeypatch.setenv("DOCKER_HOST", engine)
    session = KernelSession(
        DockerSandbox(image), tmp_path / "workspace", env={}, memory_bytes=1 << 30, log=tmp_path / "log"
    )
    try:
        code = "import os, sys, numpy; print(numpy.__version__, os.getuid() > 0, sys.prefix)"
        result = session.run(code, seconds=60)
        assert result.status is CellStatus.OK, result.error
        version, nobody, prefix = result.output.split()
    finally:
        session.close()
    assert f"numpy=={version}" in (ROOT / "requirements" / "toolbox.txt").read_text()
    assert (nobody, prefix) == ("True", "/opt/venv")
