"""Prepare the host folders that a sandbox mounts."""

import os
import stat
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from comind.errors import SandboxError
from comind.session.session_ports import SandboxSpec
from comind.system.leases import Users


@dataclass(frozen=True, slots=True)
class SandboxUser:
    """The user that a sandbox's programs run as."""

    uid: int
    gid: int
    held: tuple[int, ...] = ()
    """Descriptors that keep the user id from other sandboxes; for the sandbox's supervisor."""


class MountingSandbox:
    """Base class of sandboxes that mount the program's two folders at fixed paths."""

    workspace = Path("/workspace")
    runtime = Path("/run/comind")
    tmp_bytes = 1 << 30
    """Limit of temporary files."""

    @property
    def shared_limits(self) -> tuple[str, ...]:
        """Name the limits that sandboxes share if only root could give each a user id of its own."""
        return () if os.getuid() == 0 else ("limits by user (inotify, pending signals, pipes)",)

    @contextmanager
    def user(self, preferred: int = 0) -> Iterator[SandboxUser]:
        """Yield the user for a sandbox that starts in the block: our own, unless we are root.

        As root, a user id that no other sandbox on the machine has, until our copy of the descriptors
        and the supervisor's are closed; `preferred` if it is free.

        Raises:
            SandboxError: too many sandboxes run.
        """
        if os.getuid() != 0:
            yield SandboxUser(os.getuid(), os.getgid())
            return
        lease = Users().lease(preferred)
        if lease is None:
            raise SandboxError("no user id is free for a sandbox", hint="end other campaigns")
        uid, descriptor = lease
        try:
            yield SandboxUser(uid, uid, (descriptor,))
        finally:
            os.close(descriptor)

    def paths_inside(self, workspace: Path, runtime: Path) -> tuple[Path, Path]:
        """Return the paths of the two folders inside the sandbox."""
        del workspace, runtime
        return self.workspace, self.runtime

    @contextmanager
    def mounted(self, spec: SandboxSpec) -> Iterator[SandboxUser]:
        """Create the mount points of the inputs; as root, give the folders to the user, and yield it."""
        _make_accessible(spec.workspace)
        made = [_make_mount_point(spec.workspace, Path(given.name)) for given in spec.inputs]
        with self.user(preferred=spec.workspace.lstat().st_uid) as user:
            if os.getuid() == 0:
                _give_away([spec.workspace, spec.runtime, *chain.from_iterable(made)], user)
            yield user


def _make_mount_point(workspace: Path, name: Path) -> list[Path]:
    """Create the folders of a mount point, replacing links of earlier code, which could redirect it."""
    folder, made = workspace, []
    for part in name.parts:
        folder = folder / part
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            folder.unlink()
        folder.mkdir(exist_ok=True)
        _make_accessible(folder)
        made.append(folder)
    return made


def _make_accessible(folder: Path) -> None:
    """Undo a change of mode by earlier code, with which the next program could not start there."""
    folder.chmod(stat.S_IMODE(folder.stat().st_mode) | 0o711)


def _give_away(folders: Iterable[Path], user: SandboxUser) -> None:
    """Change the owner of folders and of all that is in them, unless it is the user already."""
    others = [str(folder) for folder in folders if folder.lstat().st_uid != user.uid]
    if others:
        # Folders of earlier code may be nested deeper than Python can follow; links are not followed.
        argv = [
            "chown",
            "--recursive",
            "-P",
            "--no-dereference",
            f"{user.uid}:{user.gid}",
            "--",
            *others,
        ]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SandboxError(f"the sandbox's folders could not be given to it: {done.stderr[:300]}")
