"""`comind report --html` writes the page of one campaign."""

import json
from pathlib import Path

import pytest

from comind.cli.main import main
from tests.unit.campaign.page_campaign import write_campaign


def _run(capfd: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, dict[str, object]]:
    status = main(["report", *map(str, arguments), "--json"])
    return status, json.loads(capfd.readouterr().out)


def test_the_page_of_a_campaign_is_written(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Neither true answers nor the agent are needed; what is missing is said on the page."""
    folder = write_campaign(tmp_path / "runs" / "demo-tiny-1", attempts=2, steps=1)
    file = tmp_path / "out" / "page.html"
    status, values = _run(capfd, folder.root, "--html", file)
    assert (status, values["campaign"], values["bytes"]) == (0, "demo-tiny-1", file.stat().st_size)
    page = file.read_text(encoding="utf-8")
    assert "output attempt-000 1" in page
    assert "so the nodes of origin are missing" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "a page about one campaign, not 2"),
        (("--write", "reports"), "--write: has no effect with --html"),
        (("--data", "."), "--data: has no effect with --html"),
    ],
)
def test_a_page_is_about_one_campaign(
    arguments: tuple[str, ...], message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Several campaigns, and options of the grading, are refused in one line."""
    for name in ("demo-tiny-1", "demo-tiny-2"):
        write_campaign(tmp_path / "runs" / name, attempts=0, ended=False)
    status, values = _run(capfd, tmp_path, "--html", tmp_path / "page.html", *arguments)
    assert status == 2
    assert message in str(values["error"])
    assert not (tmp_path / "page.html").exists()


def test_a_page_that_cannot_be_written_is_an_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A folder at the file's path gives one line."""
    folder = write_campaign(tmp_path / "runs" / "demo-tiny-1", attempts=0, ended=False)
    status, values = _run(capfd, folder.root, "--html", tmp_path)
    assert status != 0
    assert "cannot be written" in str(values["error"])
