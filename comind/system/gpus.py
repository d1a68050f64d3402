"""The machine's GPUs, each leased to one holder at a time, across all processes.

A lease is a file lock: it ends with its holder, however that ends.
"""

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

__all__ = ["Gpus", "list_gpus"]

_LINE = re.compile(r"^(\s*)\S.*\(UUID: ([\w-]+)\)\s*$")
_SECONDS = 30


def list_gpus() -> tuple[str, ...]:
    """Return the unique names of the devices that we may use; none where there is no driver.

    Of a GPU that is cut into parts, the parts are listed. `CUDA_VISIBLE_DEVICES` of our own
    environment narrows the choice.
    """
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    argv = [program, "-L"]
    try:
        listed = subprocess.run(argv, capture_output=True, text=True, timeout=_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return ()
    return _allowed(_parsed(listed.stdout), os.environ)


def _parsed(text: str) -> list[str]:
    names: list[str] = []
    whole = False  # whether the last name is a GPU that has shown no parts yet
    for line in text.splitlines():
        found = _LINE.match(line)
        if found is None:
            continue
        part = bool(found[1])
        if part and whole:
            names.pop()
        names.append(found[2])
        whole = not part
    return names


def _allowed(names: list[str], env: Mapping[str, str]) -> tuple[str, ...]:
    wanted = env.get("CUDA_VISIBLE_DEVICES")
    if wanted is None:
        return tuple(names)
    chosen: list[str] = []
    for word in filter(None, (word.strip() for word in wanted.split(","))):
        if word.isdigit():
            chosen += names[int(word) : int(word) + 1]
        else:
            chosen += [name for name in names if name.startswith(word)]
    return tuple(dict.fromkeys(chosen))


class Gpus:
    """Hands out devices; what one holder has, nobody else on this machine gets."""

    def __init__(
        self, devices: Callable[[], tuple[str, ...]] = list_gpus, folder: Path | None = None
    ) -> None:
        """Prepare to lease; devices are listed at the first lease.

        The locks lie in `folder`, the same for all processes of the machine.
        """
        self._devices = devices
        self._folder = folder or Path(tempfile.gettempdir()) / "comind-gpus"
        self._held: dict[str, dict[str, int]] = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def present(self, name: str) -> Iterator[None]:
        """Let `name` lease for the length of the block, then take back what it holds."""
        try:
            yield
        finally:
            with self._lock:
                for descriptor in self._held.pop(name, {}).values():
                    os.close(descriptor)

    def lease(self, name: str, holders: int = 1) -> tuple[str, ...]:
        """Return the devices that `name` may use, from now to the end of its presence.

        It gets its share where `holders` want some, at least one if one is free, and the same again
        when it asks again.
        """
        with self._lock:
            if name not in self._held:
                devices = self._devices()
                share = max(1, len(devices) // max(1, holders))
                held: dict[str, int] = {}
                self._held[name] = held
                for device in devices:
                    if len(held) < share and (descriptor := self._take(device)) is not None:
                        held[device] = descriptor
            return tuple(self._held[name])

    def _take(self, device: str) -> int | None:
        """Lock a device; None where somebody else has it."""
        # Everybody's, like the folder for temporary files: the holders may be different users.
        if not self._folder.is_dir():
            with contextlib.suppress(FileExistsError):
                self._folder.mkdir()
                self._folder.chmod(0o1777)
        path = self._folder / device
        # Not opened with O_CREAT once it is there: Linux refuses that for another user's file.
        if not path.exists():
            with contextlib.suppress(FileExistsError):
                path.touch(0o644, exist_ok=False)
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return None
        return descriptor
