"""Versioning: a 1 GB split after a 1 % change, and small checkpoints from parallel attempts."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from comind.adapters.dvc.versioning import ensure_repository, version

FILES, FILE_BYTES, CHANGED = 1000, 1 << 20, 10
ATTEMPTS, CHECKPOINTS, ONE_BY_ONE = 8, 125, 10
ATTEMPT = """
import sys
from pathlib import Path
from comind.adapters.dvc.versioning import version
root, number = Path(sys.argv[1]), int(sys.argv[2])
folder = root / f"attempt-{number:03d}"
folder.mkdir()
for n in range(int(sys.argv[3])):
    (folder / f"epoch-{n:03d}.pt").write_bytes(f"{number} {n}".encode() * 40)
version(root, [folder])
"""


def timed(root: Path, paths: list[Path]) -> float:
    """Return how many seconds versioning takes."""
    begun = time.perf_counter()
    version(root, paths)
    return time.perf_counter() - begun


def split(root: Path) -> None:
    """Version a split of many files, change some, version it again."""
    folder = root / "split"
    folder.mkdir()
    for n in range(FILES):
        (folder / f"{n:04d}.bin").write_bytes(os.urandom(FILE_BYTES))
    first = timed(root, [folder])
    for n in range(CHANGED):
        path = folder / f"{n * 100:04d}.bin"
        path.unlink()  # what is versioned is read-only
        path.write_bytes(os.urandom(FILE_BYTES))
    again, nothing = timed(root, [folder]), timed(root, [folder])
    whole, stored = FILES * FILE_BYTES, _size(root / ".dvc" / "cache")
    print(
        f"1 GB split in {FILES} files, 1 % changed: {again:.1f} s beside {first:.1f} s for all of it, "
        f"{again / first:.0%}; {(stored - whole) / whole:.1%} more on disk; unchanged {nothing:.1f} s"
    )


def one_file(root: Path) -> None:
    """Version one large file, change one byte, version it again: DVC knows whole files alone."""
    path = root / "train.csv"
    path.write_bytes(os.urandom(256 << 20))
    first = timed(root, [path])
    content = bytearray(path.read_bytes())
    content[0] ^= 1
    path.unlink()
    path.write_bytes(content)
    again = timed(root, [path])
    print(f"one file of 256 MB, a byte changed: {again / first:.0%} of the first time (a file is whole)")


def checkpoints(root: Path) -> None:
    """Version small files from several processes at once, and from one."""
    begun = time.perf_counter()
    running = [
        subprocess.Popen([sys.executable, "-c", ATTEMPT, str(root), str(n), str(CHECKPOINTS)])
        for n in range(ATTEMPTS)
    ]
    codes = [each.wait() for each in running]
    parallel = time.perf_counter() - begun
    lost = sum(code != 0 for code in codes)
    folder = root / "batch"
    for n in range(ATTEMPTS):
        shutil.copytree(root / f"attempt-{n:03d}", folder / str(n))
        for each in (folder / str(n)).iterdir():
            each.chmod(0o644)
            each.write_bytes(each.read_bytes() + b"!")
    batch, each = timed(root, [folder]), one_by_one(root)
    print(
        f"{ATTEMPTS * CHECKPOINTS} small checkpoints from {ATTEMPTS} processes: {parallel:.1f} s, "
        f"{lost} lost; in one batch of one process {batch:.1f} s; "
        f"`dvc add` for each of them one after another would take {each / parallel:.0f}x as long "
        f"({ONE_BY_ONE} were tried, {each / ATTEMPTS / CHECKPOINTS:.1f} s each)"
    )


def one_by_one(root: Path) -> float:
    """Return how many seconds all checkpoints would take with DVC's own command for each, from a few."""
    begun = time.perf_counter()
    for n in range(ONE_BY_ONE):
        path = root / f"single-{n:03d}.pt"
        path.write_bytes(f"single {n}".encode() * 40)
        command = [sys.executable, "-m", "dvc", "add", "--quiet", path.name]
        subprocess.run(command, cwd=root, check=True)
    return (time.perf_counter() - begun) / ONE_BY_ONE * ATTEMPTS * CHECKPOINTS


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    """Print the figures."""
    for measure in (split, one_file, checkpoints):
        root = Path(tempfile.mkdtemp(prefix="b-"))
        try:
            ensure_repository(root)
            measure(root)
        finally:
            shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
