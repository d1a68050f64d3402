"""Scratch folders are removed with the process, whatever their content."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from comind.system.supervisor import remove_tree
from comind.system.temporary_folders import scratch_folder


def test_a_folder_is_private_and_goes() -> None:
    """Its parent is private, and it is removed at the end of the block."""
    with scratch_folder("t") as folder:
        assert folder.parent.stat().st_mode & 0o777 == 0o700
        (folder / "labels.csv").write_text("secret")
    assert not folder.exists()


def test_a_folder_goes_when_we_are_killed() -> None:
    """After kill -9 within the block nothing is left."""
    program = (
        "import time\n"
        "from comind.system.temporary_folders import scratch_folder\n"
        "with scratch_folder('t') as folder:\n"
        "    (folder / 'labels.csv').write_text('secret')\n"
        "    print(folder, flush=True)\n"
        "    time.sleep(300)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    folder = Path(child.stdout.readline().strip())
    assert (folder / "labels.csv").exists()
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    end = time.monotonic() + 20
    while folder.parent.exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not folder.parent.exists()


def test_a_folder_goes_when_we_exit() -> None:
    """At a normal exit it is gone before the process is, and nothing is printed."""
    program = (
        "from comind.system.temporary_folders import make_scratch_folder\n"
        "print(make_scratch_folder('t'))\n"
    )
    command = [sys.executable, "-W", "error", "-c", program]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not Path(ran.stdout.strip()).parent.exists()
    assert ran.stderr == ""


def test_a_folder_of_any_depth_is_removed(tmp_path: Path) -> None:
    """Thousands of nested folders, unreadable ones and links in them are removed; link targets stay."""
    target = tmp_path / "target"
    target.mkdir()
    (target / "kept").write_text("kept")
    top = tmp_path / "top"
    top.mkdir()
    here = Path.cwd()
    os.chdir(top)
    for number in range(3_000):
        name = "d" * 50
        Path("link").symlink_to(target)
        Path(name).mkdir()
        os.chdir(name)
        if number % 100 == 0:
            Path("closed").mkdir(mode=0)
    os.chdir(here)
    remove_tree(str(top))
    assert not top.exists()
    assert (target / "kept").exists()


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    """If a folder was replaced by a link, the link is removed and its target stays."""
    target = tmp_path / "target"
    target.mkdir()
    (tmp_path / "top").symlink_to(target)
    remove_tree(str(tmp_path / "top"))
    assert target.is_dir()
    assert not (tmp_path / "top").is_symlink()


def test_a_long_temporary_folder_is_not_used(tmp_path: Path) -> None:
    """Sockets have paths of at most 107 bytes, so scratch folders of a long TMPDIR are in /tmp."""
    long = tmp_path / ("a" * 90)
    long.mkdir()
    program = (
        "from comind.system.temporary_folders import scratch_folder\n"
        "with scratch_folder('k') as folder: print(folder)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TMPDIR": str(long)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(done.stdout) < 80
