"""`comind report` and the README's table, from folders of campaigns."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from comind.campaign.log.campaign_events import CampaignEnded, CampaignEvent, WorkFinished, WorkPlanned
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.loop import Campaign
from comind.cli.main import main
from comind.domain.spend import Budget
from comind.mlebench.catalog import find_benchmark_competition
from tests.unit.campaign.samples import code, opened, scored, split_made
from tests.unit.competitions.folders import competition_folder
from tests.unit.mlebench.worlds import make_world

pytestmark = pytest.mark.slow

_ROOT = Path(__file__).parents[2]


def _campaign(project: Path, competition: Path, submission: str | None, **changes: object) -> Path:
    """Write the folder of a campaign that has ended."""
    folder = ProjectFolder(project).campaign(str(changes.get("id", "small-1")))
    campaign = Campaign(folder)
    warnings = changes.pop("warnings", ())
    events: list[CampaignEvent] = [
        opened(competition=competition.name, competition_folder=str(competition), **changes),
        split_made(warnings=warnings),
        WorkPlanned(id="attempt-000", work=code()),
        WorkFinished(id="attempt-000", outcome=scored(0.9)),
    ]
    for event in events:
        campaign.record(event)
    campaign.close()
    if submission is not None:
        folder.submission.write_text(submission)
    return folder.root


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A past competition with a leaderboard; yes and no are known."""
    folder = competition_folder(tmp_path)
    (folder / "leaderboard").mkdir()
    scores = "".join(f"{n},{s}\n" for n, s in enumerate([1.0, 0.9, 0.8, 0.7, 0.3], start=1))
    (folder / "leaderboard" / "private.csv").write_text(f"rank,score\n{scores}")
    return folder


def _told(capfd: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, dict[str, Any]]:
    code_ = main([*map(str, arguments), "--json"])
    return code_, json.loads(capfd.readouterr().out)


def test_campaigns_on_our_folders(
    small: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each campaign is graded on the true answers; two seeds have a mean and a standard error."""
    answers = (small / "private" / "answers.csv").read_text()
    worse = answers.replace("yes", "no")
    project = tmp_path / "project"
    for seed, text in ((1, answers), (2, worse)):
        _campaign(project, small, text, id=f"small-{seed}", seed=seed, warnings=("too easy",))
    status, told = _told(capfd, "report", project)
    assert status == 0
    best, other = told["competition_reports"]
    assert (best["score"], best["rank"], best["gold_medal"], best["seed"]) == (1.0, 1, True, 1)
    assert (other["score"], other["rank"], other["any_medal"]) == (0.7, 4, False)
    assert best["validation_score"] == 0.9
    assert best["validation_warnings"] == ["too easy"]
    assert (best["gradings"], best["optimism"]) == (0, None)
    every = told["summaries"][0]["lines"][0]
    assert (every["seeds"], every["shares"]["gold_medal"]["mean"]) == (2, 50.0)
    assert every["shares"]["gold_medal"]["standard_error"] == 50.0
    assert main(["report", str(project)]) == 0
    assert "comind report" not in (shown := capfd.readouterr().out)
    assert "50.0 ± 50.0 %" in shown
    assert "small-1: too easy" in shown


def test_nothing_handed_in_is_a_report(
    small: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A campaign without a valid submission has no score, no medal, and the reason."""
    _campaign(tmp_path, small, None, id="a", seed=1)
    _campaign(tmp_path, small, "id,label\n1,no\n", id="b", seed=2, community="somewhere")
    _, told = _told(capfd, "report", tmp_path)
    nothing, broken = told["competition_reports"]
    assert (nothing["submission_exists"], nothing["message"]) == (False, "there is no submission")
    assert (broken["submission_exists"], broken["valid_submission"]) == (True, False)
    assert "ids (id)" in broken["message"]
    assert (nothing["track"], broken["track"]) == ("closed", "community")


def test_a_campaign_that_the_projects_limit_ended_is_marked(
    small: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The report repeats who spent the limit; other ends are not mentioned."""
    text = "the project's limit of $2.00 is spent (a $2.00)"
    for name, usd, detail in (("a", 2.0, text), ("b", None, "all rounds are over")):
        _campaign(tmp_path, small, None, id=name)
        with Campaign(ProjectFolder(tmp_path).campaign(name)) as campaign:
            campaign.record(CampaignEnded(reason="budget", detail=detail, project_usd=usd))
    assert main(["report", str(tmp_path)]) == 0
    shown = capfd.readouterr().out
    assert f"a: {text}\n" in shown
    assert "all rounds" not in shown


def test_campaigns_on_prepared_data(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Campaigns on data prepared by MLE-bench are graded, with medals by the registry's thresholds."""
    entry = find_benchmark_competition("us-patent-phrase-to-phrase-matching")
    prepared = tmp_path / "data" / entry.id / "prepared"
    (prepared / "public").mkdir(parents=True)
    world = make_world(entry)
    world.write(prepared / "private")
    perfect = (prepared / "private" / "perfect.csv").read_text()
    run = _campaign(tmp_path, prepared.parent, perfect, id="p", seed=7)
    status, told = _told(
        capfd,
        "report",
        run,
        "--data",
        tmp_path / "data",
        "--mode",
        "mlebench",
        "--write",
        tmp_path / "out",
    )
    assert status == 0
    (report,) = told["competition_reports"]
    assert (report["gold_medal"], report["gold_threshold"], report["mode"]) == (True, 0.87, "mlebench")
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert files == [
        "tiny_scripted_closed_seed0007_grading_report.json",
        "tiny_scripted_closed_seed0007_submissions.jsonl",
    ]
    status, told = _told(capfd, "grade", prepared.parent, run / "submission.csv")
    assert (status, told["score"], told["medal"], told["rank"]) == (0, 1.0, "gold", None)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["{empty}"], "holds no campaign"),
        (["{run}"], "has no private/answers.csv"),
        (["{run}", "--data", "{empty}/none"], "there is no such folder"),
    ],
)
def test_what_cannot_be_reported_is_one_line(
    arguments: list[str], line: str, small: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Bad input is one line that names what and where."""
    (small / "private" / "answers.csv").unlink()
    run = _campaign(tmp_path / "project", small, "id,label\n")
    (tmp_path / "empty").mkdir()
    status, told = _told(
        capfd, "report", *(a.format(empty=tmp_path / "empty", run=run) for a in arguments)
    )
    assert (status, line in told["error"]["message"]) == (2, True), told


def _readme_table(*runs: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "infra/readme_table.py", *map(str, runs)],
        cwd=_ROOT,
        env={"PYTHONPATH": str(_ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_the_table_of_the_readme(small: Path, tmp_path: Path) -> None:
    """The script prints the README's columns from folders of campaigns."""
    run = _campaign(tmp_path, small, (small / "private" / "answers.csv").read_text())
    head, rule, row = _readme_table(run)
    readme = (_ROOT / "README.md").read_text()
    assert f"{head}\n{rule}\n" in readme
    assert row.startswith("| small | accuracy ↑ | 0.900 [0.900, 0.900] | 1.000 [")
    assert row.endswith("| 1 of 5 (90 %) |")


def test_the_table_by_length(small: Path, tmp_path: Path) -> None:
    """Each time budget has a column: fractions of a minute, minutes, and none."""
    lengths: list[tuple[float | None, int | None]] = [(24.0, None), (None, 1), (None, None)]
    runs = [
        _campaign(
            tmp_path,
            small,
            "id,label\n",
            id=f"run-{number}",
            budget=Budget(seconds=seconds),
            iterations=iterations,
        )
        for number, (seconds, iterations) in enumerate(lengths)
    ]
    table = _readme_table(*runs)
    assert "| competition | metric | 0.4 min | 1 min | no limit |" in table
