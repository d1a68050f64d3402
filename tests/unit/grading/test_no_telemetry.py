"""Checking a competition, and writing its expectations, sends no telemetry."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.competitions.folders import competition_folder

pytestmark = pytest.mark.slow

_WATCHED = """
import sys
from pathlib import Path

OUTWARD = ("connect", "getaddrinfo", "gethostbyname", "sendmsg", "sendto")

def watch(event, arguments):
    if event in [f"socket.{name}" for name in OUTWARD]:
        print(event, arguments, flush=True)

sys.addaudithook(watch)
from comind.splits.checked_plan import check_competition
from comind.competitions.competition_folder import load_competition
from comind.competitions.expectation_suites import write_checks

write_checks(check_competition(load_competition(Path(sys.argv[1]))).data, Path(sys.argv[2]))
print("checked")
"""


def test_great_expectations_never_phones_home(tmp_path: Path) -> None:
    """Without any environment variable, no connection is opened; only the checks are written."""
    folder = competition_folder(tmp_path)
    home, scratch = tmp_path / "home", tmp_path / "scratch"
    home.mkdir()
    scratch.mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-c", _WATCHED, str(folder), str(tmp_path / "checks")],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
        env={**kept, "HOME": str(home), "TMPDIR": str(scratch)},
    )
    assert done.stdout == "checked\n", done.stderr
    assert done.stderr == ""
    assert [path for path in [*home.rglob("*"), *scratch.rglob("*")] if path.is_file()] == []
    assert (tmp_path / "checks" / "index.html").is_file()
