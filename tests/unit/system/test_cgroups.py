"""Control groups are limited in version 1 and 2, and absent where neither is writable."""

import os
from pathlib import Path

from comind.system.cgroups import create_cgroup, own_cpu_quota, own_memory_limit
from comind.system.hardware import usable_cores, usable_memory
from comind.system.process_identity import start_ticks


def _make(folder: Path) -> None:
    """Make a group's folder with control files in it, as the kernel does."""
    folder.mkdir()
    for name in ("memory.max", "pids.max") if "own" in folder.parts else ("memory.limit_in_bytes",):
        (folder / name).touch()


def test_the_second_version(tmp_path: Path) -> None:
    """Version 2 has one folder below our own, with all limits that it supports."""
    (tmp_path / "own").mkdir()
    (tmp_path / "self").write_text("0::/own\n")
    group = create_cgroup(memory_bytes=5, processes=7, root=tmp_path, own=tmp_path / "self", make=_make)
    assert group is not None
    (folder,) = group.folders
    assert folder.parent == tmp_path / "own"
    assert (folder / "memory.max").read_text() == "5\n"
    assert (folder / "pids.max").read_text() == "7\n"


def test_the_first_version(tmp_path: Path) -> None:
    """Version 1 has one folder for each controller that is available."""
    (tmp_path / "memory" / "a").mkdir(parents=True)
    (tmp_path / "self").write_text("3:memory:/a\n2:freezer:/\n1:pids:/not-there\n")
    group = create_cgroup(memory_bytes=5, processes=7, root=tmp_path, own=tmp_path / "self", make=_make)
    assert group is not None
    assert [folder.parent for folder in group.folders] == [tmp_path / "memory" / "a"]


def test_groups_of_the_dead_are_swept(tmp_path: Path) -> None:
    """Creating a group removes empty groups of dead processes, and leaves those of live ones."""
    own = tmp_path / "own"
    mine = f"comind-{os.getpid()}.{start_ticks(os.getpid())}-aaaa"
    for name in ("comind-999999999.5-aaaa", mine, "comind-strange", "other"):
        (own / name).mkdir(parents=True)
    (tmp_path / "self").write_text("0::/own\n")
    group = create_cgroup(memory_bytes=5, processes=7, root=tmp_path, own=tmp_path / "self", make=_make)
    assert group is not None
    left = {path.name for path in own.iterdir()} - {folder.name for folder in group.folders}
    assert left == {mine, "comind-strange", "other"}


def test_nothing_is_left_where_nothing_can_be_set(tmp_path: Path) -> None:
    """A folder that supports no limit is removed, and there is no group."""
    (tmp_path / "self").write_text("0::/\n")
    assert create_cgroup(memory_bytes=5, processes=7, root=tmp_path, own=tmp_path / "self") is None
    assert create_cgroup(memory_bytes=5, processes=7, root=tmp_path, own=tmp_path / "none") is None
    assert [path.name for path in tmp_path.iterdir()] == ["self"]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_limits_of_our_own_group_in_version_2(tmp_path: Path) -> None:
    """The lowest limit of the group and those above it counts."""
    _write(tmp_path / "self", "0::/pod/container\n")
    _write(tmp_path / "pod" / "container" / "cpu.max", "max 100000\n")
    _write(tmp_path / "pod" / "cpu.max", "150000 100000\n")
    _write(tmp_path / "pod" / "container" / "memory.max", "1000\n")
    _write(tmp_path / "pod" / "memory.max", "max\n")
    assert own_cpu_quota(root=tmp_path, own=tmp_path / "self") == 1.5
    assert own_memory_limit(root=tmp_path, own=tmp_path / "self") == 1000


def test_limits_of_our_own_group_in_version_1(tmp_path: Path) -> None:
    """In a container the path may be that of the host, and the limits are at the root."""
    _write(tmp_path / "self", "4:memory:/docker/ab\n1:cpu,cpuacct:/docker/ab\n")
    _write(tmp_path / "cpu" / "cpu.cfs_quota_us", "50000\n")
    _write(tmp_path / "cpu" / "cpu.cfs_period_us", "100000\n")
    _write(tmp_path / "memory" / "memory.limit_in_bytes", "2000\n")
    assert own_cpu_quota(root=tmp_path, own=tmp_path / "self") == 0.5
    assert own_memory_limit(root=tmp_path, own=tmp_path / "self") == 2000


def test_without_limits_there_are_none(tmp_path: Path) -> None:
    """Version 1 states no quota as -1; other systems have no groups."""
    _write(tmp_path / "self", "1:cpu:/\n")
    _write(tmp_path / "cpu" / "cpu.cfs_quota_us", "-1\n")
    _write(tmp_path / "cpu" / "cpu.cfs_period_us", "100000\n")
    for own in (tmp_path / "self", tmp_path / "none"):
        assert own_cpu_quota(root=tmp_path, own=own) is None
        assert own_memory_limit(root=tmp_path, own=own) is None


def test_a_container_uses_what_its_limits_allow() -> None:
    """Parts of a core are rounded up to one, and a limit beyond the machine is none."""
    assert (usable_cores(lambda: 0.5), usable_memory(lambda: 1000)) == (1, 1000)
    assert usable_memory(lambda: 1 << 62) < 1 << 62
