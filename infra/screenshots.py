"""Renew the pictures of pages and of the terminal in docs/images.

    PYTHONPATH=. .venv/bin/python infra/screenshots.py [FOLDER]

`make pictures` runs three campaigns on demos in a temporary project, serves them with `comind ui`,
and takes the pictures with Debian's chromium: a few minutes. With FOLDER, the page of the first campaign
is also written there in three sizes, light and dark, to be looked at.
"""

import base64
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from infra.picture import screen, selected, shown, svg
from tests.e2e.browser import Tab, open_tab
from tests.e2e.prefect_graph import filtered

_IMAGES = Path(__file__).parents[1] / "docs" / "images"
_DEMO = (
    "solve demo-mosaic --profile quick --iterations 2 --as-of 2024-04-01T00:00:00Z --no-prove --folds 1"
)
_CAMPAIGNS = (
    f"{_DEMO} --model recorded:demo-mosaic",
    "solve demo-tumours --model offline --iterations 1",
    "solve demo-tumours --model offline --iterations 1 --seed 1",
)
_SIZES = {"phone": (390, 844), "laptop": (1120, 800), "screen": (1920, 1080)}


class _Clip(NamedTuple):
    """The part of a page that is taken, in pixels."""

    x: int
    y: int
    width: int
    height: int


class _Pages(NamedTuple):
    """The addresses that `comind ui` prints, and the password of MLflow and Prefect."""

    printed: list[str]
    password: str

    def address(self, name: str) -> str:
        """Return the first address of this name."""
        rows = [line.split() for line in self.printed]
        return next(row[1] for row in rows if len(row) > 1 and row[0] == name)


def main() -> None:
    """Run the campaigns and write the pictures."""
    looked_at = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(prefix="comind-pictures-") as folder:
        project = Path(folder)
        for arguments in _CAMPAIGNS:
            _comind(project, arguments)
        demo = next(project.glob("runs/demo-mosaic-*"))
        terminal = svg(selected(screen(shown(demo))), "make demo")
        (_IMAGES / "campaign.svg").write_text(terminal, encoding="utf-8")
        with _served(project) as pages, open_tab() as tab:
            _campaign_page(tab, pages, demo.name, looked_at)
            _mlflow(tab, pages, json.loads((demo / "runs.json").read_text())[demo.name])
            _prefect(tab, pages)


def _comind(project: Path, arguments: str) -> None:
    subprocess.run(_command(project, arguments), check=True)


def _command(project: Path, arguments: str) -> list[str]:
    return [sys.executable, "-m", "comind.cli", *arguments.split(), "--out", str(project)]


@contextlib.contextmanager
def _served(project: Path) -> Iterator[_Pages]:
    """Serve the project's pages for the length of a block."""
    command = _command(project, "ui")
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, text=True, **output) as server:
        try:
            assert server.stdout is not None
            printed = []
            for line in server.stdout:
                printed.append(line.strip())
                if line.startswith("Ctrl-C"):
                    break
            access = (project / ".prefect" / "server.env").read_text()
            found = re.search(r"PREFECT_API_AUTH_STRING='?([^'\n]+)", access)
            assert found is not None, "comind ui has written no password"
            yield _Pages(printed, found[1])
        finally:
            server.terminate()


def _campaign_page(tab: Tab, pages: _Pages, campaign: str, looked_at: Path | None) -> None:
    address = f"{pages.address('CoMind')}/campaigns/{campaign}"
    tab.resize(1120, 1420)
    tab.open(address)
    _take(tab, "campaign-page", _Clip(0, 0, 1120, 1420))
    if looked_at is not None:
        looked_at.mkdir(parents=True, exist_ok=True)
        for name, (width, height) in _SIZES.items():
            for dark in (False, True):
                tab.resize(width, height, dark=dark)
                tab.open(address)
                tab.picture(looked_at / f"{name}-{'dark' if dark else 'light'}.png")


def _mlflow(tab: Tab, pages: _Pages, run: str) -> None:
    """Take the list of runs, and the page of a campaign among the artifacts of its run."""
    credentials = base64.b64encode(f"comind:{pages.password}".encode()).decode()
    tab.send("Network.setExtraHTTPHeaders", headers={"Authorization": f"Basic {credentials}"})
    _store(tab, "mlflow.assistant.fab.autoOpenedOnFirstLoad_v1", "true")  # its panel takes the room
    tab.resize(1110, 620)
    runs = next(line.split()[1] for line in reversed(pages.printed) if line.startswith("Runs"))
    tab.open(runs)
    _until_text(tab, "attempt-000")
    _take(tab, "mlflow-runs", _Clip(0, 0, 1110, 620))
    experiment = runs.partition("/experiments/")[2].partition("/")[0]
    place = f"{pages.address('MLflow')}/#/experiments/{experiment}/runs/{run}"
    tab.resize(1110, 1000)
    tab.open(f"{place}/artifacts/campaign.html")
    tab.until("document.querySelectorAll('iframe').length > 0")
    _wait(tab, 4)  # the page of the campaign is in a frame
    _take(tab, "mlflow-campaign", _Clip(0, 0, 1110, 1000))
    tab.send("Network.setExtraHTTPHeaders", headers={})


def _prefect(tab: Tab, pages: _Pages) -> None:
    """Take the graph of a campaign, and its artifacts."""
    address = pages.address("Prefect").removesuffix("/runs")
    os.environ["PREFECT_API_AUTH_STRING"] = pages.password
    newest = {"sort": "START_TIME_DESC", "flows": {"name": {"any_": ["solve-competition"]}}}
    run = filtered(f"{address}/api", "flow_runs", newest)[0]["id"]
    _store(tab, "prefect-password", base64.b64encode(pages.password.encode()).decode())
    tab.resize(1400, 900)
    tab.open(f"{address}/runs/flow-run/{run}")
    _until_text(tab, "Task runs")
    _wait(tab, 4)  # the graph is drawn on a canvas, which says nothing of its state
    _take(tab, "prefect-campaign", _Clip(256, 0, 1128, 900))
    tab.resize(1400, 1100)
    leaves = "[...document.querySelectorAll('*')].filter(each => each.children.length == 0)"
    tab.value(f"{leaves}.filter(each => each.textContent.trim() == 'Artifacts').pop().click()")
    _until_text(tab, "leaderboard")
    _wait(tab, 2)
    _take(tab, "prefect-artifacts", _Clip(256, 760, 1128, 260))


def _store(tab: Tab, key: str, value: str) -> None:
    """Set a value that pages keep in the browser."""
    source = f"localStorage.setItem({key!r}, {value!r})"
    tab.send("Page.addScriptToEvaluateOnNewDocument", source=source)


def _until_text(tab: Tab, text: str) -> None:
    tab.until(f"document.body.innerText.includes({text!r})")


def _wait(tab: Tab, seconds: float) -> None:
    tab.value(f"new Promise(done => setTimeout(() => done(true), {seconds * 1000}))")


def _take(tab: Tab, name: str, clip: _Clip) -> None:
    """Write a part of the page as a picture of the documentation, in 256 colours."""
    part = {**clip._asdict(), "scale": 1}
    data = tab.send("Page.captureScreenshot", format="png", clip=part)["data"]
    picture = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB").quantize()
    picture.save(_IMAGES / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
