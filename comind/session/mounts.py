"""What a sandbox shows of the host: folders that are mounted, and whose they are."""

import os
import sys
from pathlib import Path

__all__ = ["SANDBOX_UID", "give_away", "host_programs", "make_mount_point"]

SANDBOX_UID = 10001  # what programs run as where we are root; nobody on the host


def host_programs() -> list[Path]:
    """Return the folders of this interpreter and its packages, as far as they lie outside /usr."""
    usr = Path("/usr")
    prefixes = {Path(sys.base_prefix), Path(sys.prefix)}
    outside = {path.resolve() for path in prefixes if usr not in path.resolve().parents}
    return sorted(path for path in outside if not any(other in path.parents for other in outside))


def make_mount_point(workspace: Path, name: Path) -> None:
    """Make real folders for a mount; a link that earlier code left there would lead it elsewhere."""
    folder = workspace
    for part in name.parts:
        folder = folder / part
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            folder.unlink()
        folder.mkdir(exist_ok=True)


def give_away(folder: Path) -> None:
    """Make a folder and all in it the sandbox user's; links are neither followed nor changed."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            os.chown(path, SANDBOX_UID, SANDBOX_UID, follow_symlinks=False)
