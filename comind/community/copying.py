"""Copy the files of an untrusted item: regular files below the community folder only."""

import shutil
from pathlib import Path, PurePosixPath

from comind.system.files import copy_plain_tree, is_of_tools


def copy_files(folder: Path, path: PurePosixPath, target: Path) -> str:
    """Copy a file or folder below `folder` into the new folder `target`; returns "" or why it failed."""
    staged = target.with_name(f".{target.name}.new")
    shutil.rmtree(staged, ignore_errors=True)  # left by a copy that was killed
    try:
        source = _resolve(folder, path)
        staged.parent.mkdir(parents=True, exist_ok=True)
        if source.is_file():
            staged.mkdir()
            _check_name(source.name)
            shutil.copyfile(source, staged / source.name, follow_symlinks=False)
        else:
            _check_names(source)
            copy_plain_tree(source, staged, skip=is_of_tools)
        staged.rename(target)
    except (OSError, ValueError) as error:
        shutil.rmtree(staged, ignore_errors=True)
        return (
            (error.strerror or "they cannot be read").lower()
            if isinstance(error, OSError)
            else str(error)
        )
    return ""


def _resolve(folder: Path, path: PurePosixPath) -> Path:
    """Return a regular file or folder below `folder`, reached without links; `ValueError` otherwise."""
    outside = path.is_absolute() or ".." in path.parts or not path.parts
    if outside or "\0" in str(path):
        raise ValueError("the path leads out of the community folder")
    target = folder
    for part in path.parts:
        target /= part
        if target.is_symlink():
            raise ValueError("the path leads over a link")
    if not target.is_file() and not target.is_dir():
        raise ValueError("there is no such file or folder")
    return target


def _check_names(folder: Path) -> None:
    """Reject links, special files, and names that are not printable."""
    for entry in folder.rglob("*"):
        _check_name(entry.name)
        if entry.is_symlink():
            raise ValueError("there is a link among them")
        if not entry.is_file() and not entry.is_dir():
            raise ValueError("there is something among them that is neither file nor folder")


def _check_name(name: str) -> None:
    if not name.isprintable():
        raise ValueError("a file's name has characters that cannot be shown")
