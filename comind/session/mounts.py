"""Prepare the host folders that a sandbox mounts."""

import os
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from comind.session.session_ports import SandboxSpec

__all__ = ["MountingSandbox"]

_UID = 10001  # unused on the host


class MountingSandbox:
    """Base class of sandboxes that mount the program's two folders at fixed paths."""

    workspace = Path("/workspace")
    runtime = Path("/run/comind")
    tmp_bytes = 1 << 30
    """Limit of temporary files."""

    @property
    def user(self) -> tuple[int, int]:
        """User and group id of programs: our own, unless we are root."""
        return (_UID, _UID) if os.getuid() == 0 else (os.getuid(), os.getgid())

    def paths_inside(self, workspace: Path, runtime: Path) -> tuple[Path, Path]:
        """Return the paths of the two folders inside the sandbox."""
        del workspace, runtime
        return self.workspace, self.runtime

    def prepare_mounts(self, spec: SandboxSpec) -> None:
        """Create the mount points of the inputs; as root, give the folders to the sandbox user."""
        made = [_make_mount_point(spec.workspace, Path(given.name)) for given in spec.inputs]
        if os.getuid() == 0:
            _give_away([spec.workspace, spec.runtime, *chain.from_iterable(made)])


def _make_mount_point(workspace: Path, name: Path) -> list[Path]:
    """Create the folders of a mount point, replacing links of earlier code, which could redirect it."""
    folder, made = workspace, []
    for part in name.parts:
        folder = folder / part
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            folder.unlink()
        folder.mkdir(exist_ok=True)
        made.append(folder)
    return made


def _give_away(folders: Iterable[Path]) -> None:
    """Change the owner of folders and of what we put in them to the sandbox user.

    The content of a folder that the user owns already is left alone: it may be anything.
    """
    for folder in folders:
        if folder.lstat().st_uid == _UID:
            continue
        os.chown(folder, _UID, _UID, follow_symlinks=False)
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                _give_away([path])
            else:
                os.chown(path, _UID, _UID, follow_symlinks=False)
