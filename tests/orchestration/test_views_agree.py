"""Terminal, pages, commands, DVC, MLflow, alerts and benches show the same campaign at any moment."""

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from mlflow.tracking import MlflowClient
from rich.console import Console

from comind.adapters.mlflow.campaign import CampaignTracker
from comind.adapters.mlflow.database import tracking_uri
from comind.adapters.notify.alert_params import AlertParams
from comind.adapters.notify.campaign_alerts import CampaignAlerts
from comind.app.campaign_pages import _row_of
from comind.app.campaign_slices import FollowingParams, ProjectSlices
from comind.app.reporting import _validation
from comind.app.result import result_of
from comind.app.terminal.live_table import live_table
from comind.campaign.log.campaign_folders import CampaignFolder, ProjectFolder
from comind.campaign.reports.campaign_summary import experiment_files
from comind.campaign.reports.campaign_view import CampaignView, read_view
from comind.campaign.reports.page.campaign_page import campaign_page
from comind.campaign.reports.work_listing import list_campaign
from comind.community.provenance import Graph
from comind.llm.model_ports import Usage
from tests.e2e.command import begin_tracking
from tests.unit.campaign.blending import BlendingWorld, program
from tests.unit.campaign.samples import split_made

_MOMENTS = 20
_NAME = "demo-tiny-1"


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """The lines of all logs of a campaign with a blend and a refit, by file, in the order of time."""
    world = BlendingWorld.of(tmp_path_factory.mktemp("ran"), [program(n, 0.5) for n in range(6)])
    world.model.usage = Usage(prompt_tokens=100, completion_tokens=20, usd=0.01)
    campaign = world.campaign(blend=True, coders=1, refit=True)
    campaign.record(split_made(metric="rmse", maximize=False))
    state = world.run(campaign)
    assert state.works.blend() is not None
    found = [
        (json.loads(line)["at"], path.relative_to(world.folder.root).as_posix(), line)
        for path in (world.folder.log, *world.folder.logs())
        for line in path.read_text().splitlines(keepends=True)
    ]
    return [(path, line) for _, path, line in sorted(found, key=lambda each: each[0])]


def test_all_show_the_same_at_twenty_moments(lines: list[tuple[str, str]], tmp_path: Path) -> None:
    """Each shows score, best work, choice, spend and state of the view, wherever the logs end."""
    begin_tracking(tmp_path)
    folder = ProjectFolder(tmp_path).campaign(_NAME)
    tracker = CampaignTracker(tmp_path, _NAME)
    seen = set[str]()
    for view in _moments(lines, folder):
        tracker.sync()
        seen.add(view.choice.split(":")[0])
        for name, shown in (_shown(tmp_path, folder) | {"MLflow": _in_mlflow(tmp_path)}).items():
            wanted = {key: value for key, value in _wanted(view).items() if key in shown}
            assert shown == wanted, f"{name}, {view.choice}"
    assert len(seen) > 4, f"too few different moments: {seen}"


def _moments(lines: list[tuple[str, str]], folder: CampaignFolder) -> Iterator[CampaignView]:
    """Write the logs line by line; yield the view at moments that lie apart, and at the end."""
    stops = {round(number * len(lines) / _MOMENTS) for number in range(1, _MOMENTS + 1)}
    for number, (path, line) in enumerate(lines, 1):
        (folder.root / path).parent.mkdir(parents=True, exist_ok=True)
        with (folder.root / path).open("a") as log:
            log.write(line)
        if number in stops and number > 2:  # after the opening and the split
            yield read_view(folder)


def _wanted(view: CampaignView) -> dict[str, Any]:
    best, spend = view.best, view.spend
    return {
        "best": best.work_id if best else None,
        "score": f"{best.score.value.value:.5g}" if best else None,
        "step": best.submitted.step if best else None,
        "choice": view.choice,
        "tokens": spend.tokens,
        "usd": f"{spend.usd:.2f}",
        "status": view.status,
    }


def _shown(project: Path, folder: CampaignFolder) -> dict[str, dict[str, Any]]:
    """Return what each renderer shows, by its name; keys as of `_wanted`, as far as it has them."""
    return {
        "comind solve": _of_result(result_of(project, folder)),
        "comind show": _of_listing(list_campaign(folder)),
        "live table": _of_table(read_view(folder)),
        "page": _of_page(campaign_page(folder, Graph())),
        "list of campaigns": _of_row(folder),
        "DVC": _of_metrics(json.loads(_metrics(read_view(folder)))),
        "report": {"score": _text(_validation(read_view(folder)).get("validation_score"))},
        "followed day": _of_day(project),
        "alert": _of_alert(folder),
    }


def _metrics(view: CampaignView) -> str:
    return experiment_files(view)["runs/campaign/metrics.json"]


def _of_result(result: dict[str, Any]) -> dict[str, Any]:
    return {"best": result["picked"]} | _of_metrics(result)


def _of_metrics(values: dict[str, Any]) -> dict[str, Any]:
    score = _text(values["validation_score"])
    return {"score": score, "tokens": values["tokens"], "usd": f"{values['usd']:.2f}"}


def _of_listing(listed: dict[str, Any]) -> dict[str, Any]:
    return {
        "best": listed["picked"],
        "choice": listed["choice"],
        "tokens": listed["tokens"],
        "usd": f"{listed['usd']:.2f}",
        "status": "ended" if listed["ended"] else "not ended",
    }


def _of_table(view: CampaignView) -> dict[str, Any]:
    console = Console(width=300, record=True, file=io.StringIO())
    console.print(live_table(view, 300))
    text = console.export_text()
    found = re.search(r"(?:best|final pick) \w+ (\S+) .*?\((\S+), step (\d+)\)", text)
    tokens, usd = re.findall(r"(\d+) tokens \(\d+% cached\), \$(\d+\.\d\d)", text)[-1]
    shown: dict[str, Any] = {"tokens": int(tokens), "usd": usd, "best": None, "step": None}
    if found:
        shown |= {"best": found[2], "step": int(found[3])}
    return shown


def _of_page(page: str) -> dict[str, Any]:
    best = re.search(r'<p class="label">(?:Final pick|Best so far)</p>\s*<p><a href="#(\S+?)">', page)
    usd = re.search(r"\$(\d+\.\d\d)", page)
    ended = "not ended" if re.search(r"UTC, not ended", page) else "ended"
    shown = {"best": best[1] if best else None, "status": ended}
    return shown | ({"usd": usd[1]} if usd else {})


def _of_row(folder: CampaignFolder) -> dict[str, Any]:
    row = _row_of(folder)
    best = re.search(r"\((\S+)\)$", row.best)
    return {"best": best[1] if best else None, "status": row.state, "usd": row.usd.strip("$")}


def _of_day(project: Path) -> dict[str, Any]:
    nothing = cast("Any", None)  # neither Kaggle nor a clock is asked
    slices = ProjectSlices(project, "demo", FollowingParams(), nothing, nothing, nothing)
    return {"usd": f"{slices.status(_NAME).usd:.2f}"}


def _of_alert(folder: CampaignFolder) -> dict[str, Any]:
    """An alert is about an event, so it leaves out what runs: the same where nothing does."""
    state = read_view(folder).state
    facts = CampaignAlerts(folder, AlertParams())._facts(state)
    if state.works.in_flight():
        return {}
    return {"best": facts["attempt"], "score": _text(facts["score"]), "usd": f"{facts['usd']:.2f}"}


def _in_mlflow(project: Path) -> dict[str, Any]:
    """MLflow has the spend of work that has ended, so it is compared where the campaign has ended."""
    client = MlflowClient(tracking_uri(project))
    [experiment] = [each for each in client.search_experiments() if each.name != "Default"]
    runs = client.search_runs([experiment.experiment_id], f"tags.`mlflow.runName` = '{_NAME}'")
    metrics, tags = runs[0].data.metrics, runs[0].data.tags
    shown: dict[str, Any] = {"score": _text(metrics.get("validation_score"))}
    shown |= {"choice": tags.get("comind.choice", "nothing scored yet")}
    if runs[0].info.status == "FINISHED":
        shown |= {"tokens": int(metrics["tokens"]), "usd": f"{metrics['usd']:.2f}", "status": "ended"}
    return shown


def _text(score: float | None) -> str | None:
    return None if score is None else f"{score:.5g}"
