"""A small disk of its own, which a test can fill: a file system in memory."""

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

__all__ = ["SmallDisk", "small_disk"]


class SmallDisk:
    """A mounted file system; its size can be changed while it is used."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def resize(self, size: int) -> None:
        """Set the number of bytes, which is rounded up to whole pages."""
        _mount("-o", f"remount,size={size}", self.folder)

    def fill(self) -> None:
        """Leave no space, whatever is there."""
        for _ in range(50):  # it may be written to meanwhile, and cannot shrink below what is used
            with contextlib.suppress(subprocess.CalledProcessError):
                self.resize(shutil.disk_usage(self.folder).used)
                return
        raise TimeoutError(f"{self.folder} is written to all the time")


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[SmallDisk]:
    """Mount a disk of `size` bytes at `folder`; the test is skipped where mounting is not possible."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        _mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"a disk cannot be mounted here: {error}")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def _mount(*arguments: str | Path) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True)
