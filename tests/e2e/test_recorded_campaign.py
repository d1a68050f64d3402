"""A campaign recorded by an earlier version is read, repaired, reproduced and resumed by this one."""

import json
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from comind.campaign.log.campaign_events import CampaignEnded
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.loop import read_state
from tests.e2e.command import comind

_FIXTURES = Path(__file__).parents[1] / "fixtures"
_OLD, _LAST = (_FIXTURES / f"campaign-{revision}.tar.xz" for revision in ("046aedd", "9e8d878"))
CAMPAIGN = "demo-tumours-comind-20261122-035228-b992"
_SIGKILLED = -9


def _unpacked(snapshot: str, folder: Path, record: Path = _OLD) -> Path:
    """Return a project with a recorded campaign as it stood at one of its snapshots."""
    with tarfile.open(record) as archive:
        members = [each for each in archive if each.name.split("/")[0] == snapshot]
        archive.extractall(folder, members, filter="tar")
    return folder / snapshot


def _folder(project: Path) -> Path:
    """Return the folder of the project's only campaign."""
    [folder] = (project / "runs").iterdir()
    return folder


def _events(project: Path, work: str = "") -> list[dict[str, Any]]:
    """Return what the log of the campaign, or of one piece of its work, says happened."""
    log = _folder(project) / work / "log.jsonl"
    return [json.loads(line)["event"] for line in log.read_text().splitlines()]


def _logs(project: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of every log of the campaign."""
    root = _folder(project)
    for log in root.rglob("log.jsonl"):
        yield str(log.parent.relative_to(root)), log.read_bytes()


def _of_type(kind: str, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the events of one type, in order."""
    return [each for each in events if each["type"] == kind]


@pytest.fixture
def ended(tmp_path: Path, shared_server: str) -> Path:
    """A project with the recorded campaign at its end."""
    return _unpacked("ended", tmp_path)


def test_it_holds_what_later_versions_must_read(ended: Path) -> None:
    """The record has thoughts, two resumptions, a draft that extends another, a refit without code."""
    events = _events(ended)
    planned = {each["id"]: each["work"] for each in _of_type("work-planned", events)}
    thoughts = [work["purpose"] for work in planned.values() if work["kind"] == "think"]
    assert thoughts == ["analyze", "propose", "coordinate"]
    assert len(_of_type("campaign-resumed", events)) == 2
    assert planned["attempt-001"]["parents"] == ["attempt-000"]
    assert planned["refit-000"]["session"] == "script"
    [refit] = [each for each in _of_type("work-finished", events) if each["id"] == "refit-000"]
    assert refit["outcome"]["code"] == ""
    assert {each["role"] for each in _of_type("call-sent", _events(ended, "attempt-000"))} == {
        "baseline"
    }


def test_it_is_reported(ended: Path) -> None:
    """`comind report` gives the score on the true answers and the validation score of its log."""
    ran = comind("report", ".", "--json", cwd=ended)
    assert ran.exit_code == 0, ran.stderr
    [report] = ran.json["competition_reports"]
    assert (report["competition_id"], report["agent"], report["seed"]) == ("demo-tumours", "comind", 0)
    assert report["valid_submission"]
    assert report["score"] == 0.9766081871345029
    assert report["validation_score"] == 0.9696969696969697


def test_its_lineage_is_shown(ended: Path) -> None:
    """`comind lineage` leads from the refit to its attempt, the idea and the discussions behind it."""
    ran = comind("lineage", CAMPAIGN, "--out", ended, "--json")
    assert ran.exit_code == 0, ran.stderr
    assert (ran.json["attempt"], ran.json["missing"]) == ("refit-000", [])
    assert {each["id"]: each["parents"] for each in ran.json["nodes"]} == {
        "solution:refit-000": ["solution:attempt-002"],
        "solution:attempt-002": ["draft:attempt-002"],
        "draft:attempt-002": ["idea:idea-000"],
        "idea:idea-000": ["discussion:1", "discussion:2"],
        "discussion:1": [],
        "discussion:2": [],
    }
    [solution] = [each for each in ran.json["nodes"] if each["id"] == "solution:attempt-002"]
    assert (solution["score"], solution["script"]) == (0.9696969696969697, "identical")


def test_it_is_repaired(ended: Path) -> None:
    """`comind repair` finds nothing wrong with its logs, ref and data, and writes MLflow's runs anew."""
    from mlflow.tracking import MlflowClient

    from comind.adapters.mlflow.database import tracking_uri

    ran = comind("repair", "--out", ended, "--json")
    assert ran.exit_code == 0, ran.stderr
    assert ran.json["disagreements"] == []
    assert ran.json["repaired"] == [f"{CAMPAIGN}: MLflow was rebuilt from the logs"]
    client = MlflowClient(tracking_uri=tracking_uri(ended))
    runs = client.search_runs([client.get_experiment_by_name("demo-tumours").experiment_id])
    assert {run.info.run_name: run.data.metrics.get("score") for run in runs} == {
        CAMPAIGN: None,
        "attempt-000": 0.9797979797979798,
        "attempt-001": 0.8686868686868687,
        "attempt-002": 0.9696969696969697,
        "refit-000": None,
    }


def test_it_is_reproduced(ended: Path) -> None:
    """Pick and refit are reproduced without a model, also where only the finals' data were kept."""
    (ended / "script.yaml").unlink()
    kept = comind("gc", "--finals", "--out", ended, "--json")
    assert kept.exit_code == 0, kept.stderr
    assert kept.json["dropped"] > 0
    ran = comind("reproduce", CAMPAIGN, "--out", ended, "--json")
    assert ran.exit_code == 0, ran.stderr
    assert [part["attempt"] for part in ran.json["parts"]] == ["attempt-002", "refit-000"]
    assert ran.json["verdict"] in ("identical", "equivalent"), ran.json["difference"]
    assert ran.json["score"] == ran.json["expected_score"] == 0.9696969696969697


def test_it_goes_on_with_more_time(ended: Path) -> None:
    """With a larger budget the ended campaign comes to its end once more, by the rules it began with."""
    before = dict(_logs(ended))
    ran = comind("solve", "--resume", CAMPAIGN, "--minutes", "60", "--out", ".", "--json", cwd=ended)
    assert ran.exit_code == 0, ran.stderr
    after = dict(_logs(ended))
    assert before.keys() <= after.keys()
    assert all(after[name].startswith(before[name]) for name in before)
    events = _events(ended)
    assert len(_of_type("campaign-ended", events)) == 2
    assert not _of_type("folds-planned", events) + _of_type("blend-judged", events)
    assert events[-1]["type"] == "campaign-ended"
    assert (ran.json["picked"], ran.json["refitted"]) == ("attempt-002", True)


@pytest.mark.torture  # below, and with more time above, it is resumed in every run
def test_it_is_resumed_inside_an_attempt(ended: Path) -> None:
    """Killed after a coder's reply, it ends as the recorded one did, and asks nothing a second time."""
    project = _unpacked("killed-in-attempt", ended.parent)
    _forget(project, "Analysis", "Brainstorm", "Selection", "Drafts", "straight border", "border: 30")
    before = dict(_logs(project))
    answered = {work: _answered(project, work) for work in before}
    assert (answered["think-000"], answered["attempt-002"]) == ({0, 1, 2, 3, 4, 5}, {1, 3})
    ran = comind("solve", "--resume", CAMPAIGN, "--out", ".", "--json", cwd=project)
    assert ran.exit_code == 0, ran.stderr
    after = dict(_logs(project))
    assert all(after[name].startswith(before[name]) for name in before)
    for work, ordinals in answered.items():
        sent = [each["ordinal"] for each in _of_type("call-sent", _events(project, work))]
        assert all(sent.count(ordinal) == 1 for ordinal in ordinals), work
    assert _end_of(project) == _end_of(ended)


def test_it_is_resumed_inside_the_baseline(tmp_path: Path, shared_server: str) -> None:
    """Killed after the baseline's recorded reply, it goes on from there to the baseline's score."""
    project = _unpacked("killed-in-baseline", tmp_path)
    before = dict(_logs(project))
    ran = comind(
        "solve", "--resume", CAMPAIGN, "--out", ".", cwd=project, COMIND_KILL_AT="work-finished"
    )
    assert ran.exit_code == _SIGKILLED, ran.stderr
    after = dict(_logs(project))
    assert all(after[name].startswith(before[name]) for name in before)
    sent = [each["ordinal"] for each in _of_type("call-sent", _events(project, "attempt-000"))]
    assert sent.count(0) == 1
    finished = _events(project)[-1]
    assert (finished["type"], finished["id"]) == ("work-finished", "attempt-000")
    assert finished["outcome"]["score"]["value"]["value"] == 0.9797979797979798


def test_one_of_the_last_revision_is_resumed(tmp_path: Path, shared_server: str) -> None:
    """Killed in its second attempt, it asks nothing twice and ends by the options it began with.

    Prompts have changed since, so that attempt cannot go on: it ends, and says so in one line.
    """
    project = _unpacked("killed-in-attempt", tmp_path, _LAST)
    campaign = _folder(project).name
    _forget(project, "Analysis", "Brainstorm", "Selection", "Drafts", "# Your draft: one cut")
    before = dict(_logs(project))
    assert _answered(project, "attempt-001") == {2, 4}
    ran = comind("solve", "--resume", campaign, "--out", ".", "--json", cwd=project)
    assert ran.exit_code == 0, ran.stderr
    after = dict(_logs(project))
    sent = [each["ordinal"] for each in _of_type("call-sent", _events(project, "attempt-001"))]
    assert (sent.count(2), sent.count(4)) == (1, 1)
    assert after.keys() == before.keys()  # without a refit
    assert all(after[name].startswith(before[name]) for name in before)
    ended = _of_type("work-ended", _events(project, "attempt-001"))[-1]["outcome"]["failure"]
    assert ended["kind"] == "replay"
    assert "record 3 of this work is cell" in ended["message"]  # `submit` has another docstring
    assert (ran.json["valid_attempts"], ran.json["picked"]) == (1, "attempt-000")
    assert ran.json["validation_score"] == 0.9797979797979798
    assert len(Path(ran.json["submission"]).read_text().splitlines()) == 1 + 171
    spec = read_state(ProjectFolder(project).campaign(campaign)).spec
    given = (spec.seed, spec.coders, spec.steps, spec.folds, spec.pick)
    assert given == (3, 1, 6, 1, "simplest")
    assert (spec.monitor, spec.refit, spec.prove) == (False, False, False)
    assert (spec.budget.seconds, spec.budget.tokens) == (1800.0, 100_000)
    assert spec.parameters["idea_memory"] is False
    events = [each["type"] for each in _events(project)]
    assert (events.count("campaign-resumed"), events[-1]) == (1, "campaign-ended")


def test_a_killed_bench_of_the_last_revision_is_resumed(tmp_path: Path, shared_server: str) -> None:
    """Killed in its second campaign, it runs nothing of the first again, and compares both."""
    project = _unpacked("killed-in-bench", tmp_path, _LAST)
    first, second = (project / "runs" / f"small-{arm}-demo-tumours-s0" for arm in ("one", "two"))
    before = [(folder / "log.jsonl").read_bytes() for folder in (first, second)]
    ran = comind("bench", "small.yaml", "--json", cwd=project)
    assert ran.exit_code == 0, ran.stderr
    after = [(folder / "log.jsonl").read_bytes() for folder in (first, second)]
    assert (after[0], after[1][: len(before[1])]) == tuple(before)
    runs = ran.json["runs"]
    assert [each["campaign"] for each in runs] == [first.name, second.name]
    assert {(each["status"], each["attempts"], each["score"]) for each in runs} == {
        ("ended", 1, 0.9590643274853801)
    }


def test_a_competition_that_the_last_revision_followed_is_shown(tmp_path: Path) -> None:
    """`comind track --status` has its submission, and what happened on its day."""
    project = _unpacked("killed-in-bench", tmp_path, _LAST)
    ran = comind("track", "demo-tumours", "--status", "--json", cwd=project)
    assert ran.exit_code == 0, ran.stderr
    assert (ran.json["submissions"], ran.json["decision"]) == (1, "submit")
    [day] = ran.json["days"]
    assert [each["type"] for each in day["events"]] == [
        *("looked", "slice-begun", "slice-ended", "decided", "sending", "sent", "scored", "selected")
    ]


def _forget(project: Path, *said: str) -> None:
    """Take from the scripted model what it has said already; asked again, it fails."""
    script = project / "script.yaml"
    rules = yaml.safe_load(script.read_text())
    left = [
        rule
        for rule in rules
        if not any(words == rule["reply"] or words in rule.get("contains", "") for words in said)
    ]
    assert len(left) == len(rules) - len(said)
    script.write_text(yaml.safe_dump(left))


def _answered(project: Path, work: str) -> set[int]:
    """Return the numbers of the calls whose replies are recorded."""
    return {each["ordinal"] for each in _of_type("call-answered", _events(project, work))}


def _end_of(project: Path) -> dict[str, Any]:
    """Return all of a campaign's end that must not depend on where it was killed."""
    folder = _folder(project)
    events = _events(project)
    [picked], [ended] = _of_type("final-picked", events), _of_type("campaign-ended", events)
    listing = ["git", "-C", project, "ls-tree", "-r", "--name-only", f"refs/comind/{CAMPAIGN}"]
    held = subprocess.run(listing, capture_output=True, text=True, check=True).stdout.split()
    return {
        "picked": picked["work_id"],
        "reason": picked["reason"],
        "ranks": [(each["work_id"], each["score"]["value"]["value"]) for each in picked["leaderboard"]],
        "proofs": {(each["id"], each["proof"]) for each in _of_type("script-proved", events)},
        "ended": CampaignEnded.model_validate(ended),  # later versions have more fields
        "submission": (folder / "submission.csv").read_bytes(),
        "unrefitted": (folder / "submission-before-refit.csv").read_bytes(),
        # What our own code has uncommitted is no matter of the campaign.
        # The summary for DVC is newer than the recording.
        "ref": [
            name for name in held if not name.endswith(".diff") and not name.startswith("runs/campaign/")
        ],
    }
