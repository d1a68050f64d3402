"""Extras: a package that is not installed is reported with the extra that has it."""

import subprocess
import sys
from pathlib import Path

import pytest

from comind.demos.make import make_demo
from comind.system.extras import missing_extra


@pytest.mark.parametrize(
    ("package", "extra"), [("torch", "images"), ("soundfile", "audio"), ("websockets.asyncio", "nodes")]
)
def test_the_extra_of_a_package_is_named(package: str, extra: str) -> None:
    """The error names the package and the command that installs it."""
    error = missing_extra(ModuleNotFoundError(f"No module named {package!r}", name=package))
    assert error is not None
    assert error.exit_code == 4
    assert (
        str(error) == f"the package {package.partition('.')[0]} is needed for this, and is not installed"
    )
    assert error.hint == f"pip install 'comind-pipeline[{extra}]'"


@pytest.mark.parametrize("package", ["pandas", "comind.nowhere", "elsewhere", None])
def test_other_packages_are_in_no_extra(package: str | None) -> None:
    """A dependency of the core, a module of ours and an unknown package have no extra."""
    assert missing_extra(ImportError("gone", name=package)) is None


_WITHOUT_EXTRAS = """
import re, sys
from importlib.metadata import requires

class Absent:
    names = {re.match(r"[\\w-]+", line)[0] for line in requires("comind-pipeline") if "extra ==" in line}
    def find_spec(self, name, *_):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from comind.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def _comind(place: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command without the packages of all extras."""
    command = [sys.executable, "-c", _WITHOUT_EXTRAS, *map(str, arguments)]
    return subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)


def test_grading_needs_no_extra(tmp_path: Path) -> None:
    """Without the packages of all extras, torch among them, a submission is graded."""
    demo = make_demo("demo-tumours", tmp_path)
    ran = _comind(tmp_path, "grade", demo, demo / "public" / "sample_submission.csv")
    assert ran.returncode == 0, ran.stderr
    assert "95 % interval" in ran.stdout
