"""Version and packages of an interpreter are the same from inside and outside."""

import json
import subprocess
import sys
from pathlib import Path

from comind.system.interpreter import PROGRAM, python_and_packages


def _told(*options: str, **env: str) -> tuple[str, list[str]]:
    """Run the program in an interpreter without CoMind in its path; return its output."""
    command = [sys.executable, *options, "-c", PROGRAM]
    version, packages = json.loads(subprocess.check_output(command, env=env, cwd="/"))
    return version, packages


def test_the_program_says_what_we_say() -> None:
    """Run as a program, it prints the version and packages of this interpreter."""
    version, packages = _told("-P")
    own_version, own_packages = python_and_packages()
    assert version == own_version
    assert set(packages) >= {each for each in own_packages if each.startswith("pydantic")}
    assert packages == sorted(packages, key=lambda each: each.partition("==")[0])


def test_the_first_folder_wins(tmp_path: Path) -> None:
    """Of two versions of a package, the one that an import would find is listed, by normalised name."""
    for folder, version in (("a", "1.0"), ("b", "2.0")):
        (tmp_path / folder / f"Some_Package-{version}.dist-info").mkdir(parents=True)
    _, packages = _told("-S", PYTHONPATH=f"{tmp_path / 'a'}:{tmp_path / 'b'}")
    assert packages == ["some-package==1.0"]
