"""The metric of docs/competition-folder.md, installed from a folder, in a campaign."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from comind.demos.make import make_demo
from tests.e2e.command import comind

_PAGE = Path(__file__).parents[2] / "docs" / "competition-folder.md"
_SECTION = re.compile(r"^### A metric of your own$(.*?)^## ", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"^`([\w/.]+)`\n\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the metric is installed in."""
    root = tmp_path_factory.mktemp("metric")
    section = _SECTION.search(_PAGE.read_text())
    assert section is not None
    for name, text in _FILE.findall(section[1]):
        (root / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "source" / name).write_text(text)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    alone = ["--no-index", "--no-deps", "--no-build-isolation"]  # builds a wheel, offline
    subprocess.run([*pip, *alone, "--target", root / "site", root / "source"], check=True)
    return root / "site"


@pytest.fixture
def competition(tmp_path: Path) -> Path:
    """A demo whose metric is the plug-in's, by a name with other separators."""
    folder = make_demo("demo-diabetes", tmp_path)
    described = yaml.safe_load((folder / "competition.yaml").read_text())
    described["metric"] = "Within_ten percent"
    (folder / "competition.yaml").write_text(yaml.safe_dump(described))
    return folder


def test_a_campaign_is_scored_by_an_installed_metric(
    site: Path, competition: Path, tmp_path: Path, shared_server: str
) -> None:
    """Split, grader and `grade` know the metric; without its distribution it is unknown."""
    project, environment = tmp_path / "project", {"PYTHONPATH": str(site)}
    arguments = ("--model", "offline", "--iterations", "0", "--no-refit", "--no-blend", "--json")
    ran = comind("solve", competition, "--out", project, *arguments, **environment)
    assert ran.exit_code == 0, ran.stderr
    assert 0 < ran.json["validation_score"] < 1
    submission = project / "runs" / ran.json["campaign"] / "submission.csv"
    graded = comind("grade", competition, submission, "--json", **environment)
    assert (graded.json["metric"], graded.json["maximize"]) == ("within-ten-percent", True)
    shutil.copy(competition / "private" / "answers.csv", tmp_path / "answers.csv")
    best = comind("grade", competition, tmp_path / "answers.csv", "--json", **environment)
    assert best.json["score"] == 1.0
    refused = comind("grade", competition, submission)
    assert refused.exit_code == 2
    assert "unknown metric 'Within_ten percent'" in refused.stderr
