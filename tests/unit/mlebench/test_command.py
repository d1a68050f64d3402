"""`comind mlebench` lists and adapts competitions, and validates its arguments."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from comind.cli.main import main
from tests.unit.prepared import prepared_images


def test_the_competitions_are_listed(capfd: pytest.CaptureFixture[str]) -> None:
    """The text has a line per competition; the JSON has all fields."""
    assert main(["mlebench", "list"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) == 75
    assert "random-acts-of-pizza" in next(line for line in lines if "[leak]" in line and "pizza" in line)
    assert main(["mlebench", "list", "--json"]) == 0
    told = json.loads(capfd.readouterr().out)["competitions"]
    assert {entry["id"]: entry["thresholds"]["gold"] for entry in told}["leaf-classification"] == 0


def test_prepared_data_are_adapted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The adapted folder includes the answers, so that submissions can be graded."""
    given = prepared_images(tmp_path / "mle")
    assert main(["mlebench", "adapt", str(given), "--out", str(tmp_path), "--json"]) == 0
    made = Path(json.loads(capfd.readouterr().out)["competition"])
    assert (made / "private" / "answers.csv").read_text() == "id,has_cactus\nc.jpg,1\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["mlebench", "adapt"], "the following arguments are required: PREPARED"),
        (["mlebench", "validate", "nowhere"], "nowhere: has no prepared/public"),
    ],
)
def test_bad_usage_is_one_line(
    arguments: list[str], line: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Bad usage is exit code 2 and one line."""
    assert main(arguments) == 2
    assert f"comind: {line}\n" in capfd.readouterr().err


def test_a_program_reads_where_submissions_are_validated(tmp_path: Path) -> None:
    """With `--json` the object is printed once the server listens, as it ends by a signal."""
    words = ["mlebench", "validate", prepared_images(tmp_path), "--port", "0", "--json"]
    with subprocess.Popen(
        [sys.executable, "-m", "comind.cli", *words], stdout=subprocess.PIPE
    ) as server:
        assert server.stdout is not None
        try:
            address = json.loads(server.stdout.readline())["address"]
        finally:
            server.terminate()
    assert address.startswith("http://localhost:")
