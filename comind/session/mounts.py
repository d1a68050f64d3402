"""What a sandbox shows of the host: folders that are mounted, and whose they are."""

import os
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from comind.session.base import SandboxSpec
from comind.system.interpreter import Interpreter

__all__ = ["SANDBOX_UID", "TMP_BYTES", "MountingSandbox", "host_programs", "prepare_mounts"]

SANDBOX_UID = 10001  # what programs run as where we are root; nobody on the host
TMP_BYTES = 1 << 30  # of temporary files


class MountingSandbox:
    """A sandbox that mounts a program's two folders where it always finds them."""

    workspace = Path("/workspace")
    runtime = Path("/run/comind")

    def paths_inside(self, workspace: Path, runtime: Path) -> tuple[Path, Path]:
        """Return the paths at which a program sees its two folders."""
        del workspace, runtime
        return self.workspace, self.runtime


def host_programs(interpreter: Interpreter) -> list[Path]:
    """Return the folders of an interpreter and its packages, as far as they lie outside /usr."""
    usr = Path("/usr")
    resolved = {path.resolve() for path in interpreter.prefixes}
    outside = {path for path in resolved if path != usr and usr not in path.parents}
    return sorted(path for path in outside if not any(other in path.parents for other in outside))


def prepare_mounts(spec: SandboxSpec) -> None:
    """Make the mount points of a program's inputs, and its folders the sandbox user's."""
    made = [_make_mount_point(spec.workspace, Path(given.name)) for given in spec.inputs]
    if os.getuid() == 0:
        _give_away([spec.workspace, spec.runtime, *chain.from_iterable(made)])


def _make_mount_point(workspace: Path, name: Path) -> list[Path]:
    """Make real folders for a mount; a link that earlier code left there would lead it elsewhere."""
    folder, made = workspace, []
    for part in name.parts:
        folder = folder / part
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            folder.unlink()
        folder.mkdir(exist_ok=True)
        made.append(folder)
    return made


def _give_away(folders: Iterable[Path]) -> None:
    """Make the code's user the owner of its folders and of what we laid in them.

    A folder that was given away before may hold anything by now; what is in it is the code's already.
    """
    for folder in folders:
        if folder.lstat().st_uid == SANDBOX_UID:
            continue
        os.chown(folder, SANDBOX_UID, SANDBOX_UID, follow_symlinks=False)
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                _give_away([path])
            else:
                os.chown(path, SANDBOX_UID, SANDBOX_UID, follow_symlinks=False)
