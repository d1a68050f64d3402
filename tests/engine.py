"""A container engine for the tests: one for the whole run, shared by its workers, ended with it."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from filelock import FileLock

__all__ = ["ROOT", "Engine", "docker", "folder_of_the_run", "script", "start_engine", "stop_engine"]

ROOT = Path(__file__).parents[1]
_SCRIPTS = ROOT / "infra" / "docker"
_FOLDER = "TEST_ENGINE_FOLDER"
_GIVEN = os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
_REQUIRED = os.environ.get("COMIND_REQUIRE_DOCKER") == "1"


def folder_of_the_run() -> Path:
    """Return the engine's folder, named by the process that began the run; workers inherit the name."""
    # Not pytest's own folders: a socket's path ends at 107 bytes.
    return Path(os.environ.setdefault(_FOLDER, f"/tmp/comind-e-{os.getpid()}"))


def start_engine() -> str:
    """Return the address of an engine that answers and has the host image.

    A missing engine skips the test, or fails it where COMIND_REQUIRE_DOCKER says so.
    """
    folder = folder_of_the_run()
    folder.mkdir(exist_ok=True)
    with FileLock(folder / "lock"):
        address = _GIVEN
        if not _answers(address):
            address = f"unix://{folder}/docker.sock"
            owner = folder.name.rpartition("-")[2]
            started = script("engine.sh", "start", str(folder), owner)
            if started.returncode != 0:
                reason = f"no container engine: {started.stderr.strip() or started.stdout.strip()}"
                (pytest.fail if _REQUIRED else pytest.skip)(reason)
        made = script("host-image.sh", DOCKER_HOST=address)
        assert made.returncode == 0, made.stderr
        return address


def stop_engine() -> None:
    """End the engine of this run, if one was started."""
    folder = folder_of_the_run()
    if folder.is_dir():
        script("engine.sh", "stop", str(folder))
        subprocess.run(["rm", "-rf", str(folder)], check=False)


def docker(address: str, *arguments: str) -> str:
    """Return what the engine's own command line says."""
    done = subprocess.run(
        ["docker", *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "DOCKER_HOST": address},
    )
    return done.stdout.strip()


def _answers(address: str) -> bool:
    if address.startswith("unix://") and not Path(address.removeprefix("unix://")).is_socket():
        return False
    try:
        docker(address, "version")
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def script(name: str, *arguments: str, **env: str) -> "subprocess.CompletedProcess[str]":
    """Run one of the scripts that start things."""
    return subprocess.run(
        [str(_SCRIPTS / name), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        env={**os.environ, **env},
    )


class Engine:
    """A container engine that may be killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = f"unix://{folder}/docker.sock"
        self.start()

    def start(self) -> None:
        """Start it, again if need be, with the host image."""
        self.folder.mkdir(exist_ok=True)
        assert script("engine.sh", "start", str(self.folder), str(os.getpid())).returncode == 0
        assert script("host-image.sh", DOCKER_HOST=self.address).returncode == 0

    def kill(self) -> None:
        """End it at once."""
        os.kill(int((self.folder / "dockerd.pid").read_text()), signal.SIGKILL)

    def stop(self) -> None:
        """End it, and what a killed one left."""
        script("engine.sh", "stop", str(self.folder))

    def mounts(self) -> list[str]:
        """Return the mounts below its folder."""
        lines = Path("/proc/mounts").read_text().splitlines()
        return sorted(line for line in lines if f"{self.folder}/" in line)

    def containers(self) -> list[str]:
        """Return all containers, running or not."""
        return docker(self.address, "ps", "--all", "--quiet").split()
