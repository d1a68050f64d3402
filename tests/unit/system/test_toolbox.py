"""The toolbox is used if it was built completely, and not otherwise."""

import hashlib
import sys
from pathlib import Path

import pytest

from comind.system.interpreter import (
    Interpreter,
    _toolbox_at,
    interpreter_for_agents,
    own_interpreter,
    toolbox_folder,
)


def _built(folder: Path, *, lock: str | None = "numpy==2.4.6\n") -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(sys.executable)
    (folder / "pyvenv.cfg").write_text(f"home = {folder.parent / 'base' / 'bin'}\nversion = 3.11.7\n")
    if lock is not None:
        (folder / "lock.txt").write_text(lock)
    return folder


def test_it_is_known_by_its_lock_file(tmp_path: Path) -> None:
    """The hash of its lock file identifies it; its folder and the base of its Python are mounted."""
    folder = _built(tmp_path / "box")
    found = _toolbox_at(folder)
    assert found == Interpreter(
        str(folder / "bin" / "python"),
        ((tmp_path / "base").resolve(), folder),
        hashlib.sha256(b"numpy==2.4.6\n").hexdigest(),
    )
    assert found is not None
    assert found.mounts() == sorted([(tmp_path / "base").resolve(), folder.resolve()])


def test_half_of_one_is_none(tmp_path: Path) -> None:
    """Without its lock file, which is written last, or without Python it is not used."""
    assert _toolbox_at(tmp_path / "nowhere") is None
    assert _toolbox_at(_built(tmp_path / "half", lock=None)) is None
    broken = _built(tmp_path / "broken")
    (broken / "bin" / "python").unlink()
    assert _toolbox_at(broken) is None


def test_agents_code_runs_in_it_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is beside our own environment or where COMIND_TOOLBOX says; else ours is used."""
    assert interpreter_for_agents() == own_interpreter(), "tests have none"
    monkeypatch.setenv("COMIND_TOOLBOX", str(_built(tmp_path / "box")))
    assert interpreter_for_agents().python == str(tmp_path / "box" / "bin" / "python")
    monkeypatch.setenv("COMIND_TOOLBOX", str(tmp_path / "nowhere"))
    assert interpreter_for_agents() == own_interpreter()
    monkeypatch.delenv("COMIND_TOOLBOX")
    assert toolbox_folder() == Path(__file__).parents[3] / ".toolbox"


def test_nothing_is_mounted_twice(tmp_path: Path) -> None:
    """Folders in /usr or within another mounted folder are not mounted again."""
    both = Interpreter("python", (Path("/usr"), Path("/usr/lib"), tmp_path, tmp_path / "venv"))
    assert both.mounts() == [tmp_path.resolve()]
