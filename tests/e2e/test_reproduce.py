"""A submission again from its lineage alone, and a clear word on every changed byte."""

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from comind.adapters.dvc.garbage_collection import collect_garbage
from comind.adapters.dvc.versioning import cached_object, ensure_repository
from comind.adapters.git.refs import campaign_commit, campaign_ref, commit_files
from comind.app.lineage import as_dot, as_mermaid, as_tree, lineage
from comind.app.repair import repair
from comind.app.reproduction import reproduce_submissions
from comind.campaign.log.campaign_events import CAMPAIGN_EVENTS, CampaignOpened
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.messages import read_messages
from comind.campaign.loop import Campaign, read_state
from comind.errors import ComindError, DataError, LogError, OrchestrationError
from comind.eventlog.log import read_log
from comind.servers.tool_servers import prepare_environment
from tests.e2e.command import SCRIPT, comind

_CELLS = """
- reply: CodingStep
  contains: Nothing is scored yet
  say:
    goal: Hand in.
    code: |
      import json, os
      if os.path.isdir('input/fitted'):
          model = json.load(open('input/fitted/model.json'))
      else:
          model = {'scale': 1}
          os.makedirs('checkpoints', exist_ok=True)
          json.dump(model, open('checkpoints/model.json', 'w'))
      print(validation.head())
      print(open(f'{folder}/train.csv').read(1000))
      validation.to_csv('validation_submission.csv', index=False)
      found = pd.read_csv(f'{folder}/sample_submission.csv')
      found.iloc[:, 1:] *= model['scale']
      found.to_csv('submission.csv', index=False)
"""
_KEY = "sk-kept-out-of-every-file"
_CONTRACT = {
    "verdict",
    "submission_sha256",
    "expected_sha256",
    "score",
    "expected_score",
    "environment_matches",
}


def _git(folder: Path, *arguments: str | Path) -> str:
    command = ["git", "-C", str(folder), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory, shared_server: str) -> tuple[Path, str, Path]:
    """A project whose one campaign was proved and pushed; the campaign, and the git remote."""
    root = tmp_path_factory.mktemp("lineage here")
    project, origin = root / "project", root / "origin.git"
    project.mkdir()
    prepare_environment(project)
    ensure_repository(project)
    subprocess.run(["git", "init", "--quiet", "--bare", origin], check=True)
    _git(project, "remote", "add", "origin", origin)
    (root / "store").mkdir()
    dvc = [sys.executable, "-m", "dvc", "remote", "add", "--quiet", "-d", "store", str(root / "store")]
    subprocess.run(dvc, cwd=project, check=True)
    script = root / "script.yaml"
    script.write_text(_CELLS.lstrip() + SCRIPT.read_text())
    ran = comind(
        "solve", "demo-tumours", "--model", f"scripted:{script}",
        "--baseline", "none", "--iterations", "1", "--coders", "2", "--push", "--out", project, "--json",
        prove=True, OPENAI_API_KEY=_KEY,
    )  # fmt: skip
    assert ran.exit_code == 0, ran.stderr
    return project, ran.json["campaign"], origin


@pytest.fixture(scope="module")
def clone(solved: tuple[Path, str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh clone, without cache and without working tree."""
    folder = tmp_path_factory.mktemp("clone") / "of it"
    subprocess.run(["git", "clone", "--quiet", solved[2], folder], check=True, capture_output=True)
    return folder


def test_scripts_are_proved_and_say_so(solved: tuple[Path, str, Path]) -> None:
    """Pick, refit and the other published solution are proved, in the log, in lineage and in MLflow."""
    from mlflow.tracking import MlflowClient

    from comind.adapters.mlflow.database import tracking_uri

    project, campaign, _ = solved
    folder = ProjectFolder(project).campaign(campaign)
    state = read_state(folder)
    assert {name: (p.proof, p.origin) for name, p in state.proofs.items()} == {
        "attempt-000": ("identical", "derived"),
        "attempt-001": ("identical", "derived"),
        "refit-000": ("identical", "derived"),
    }
    text = folder.work("attempt-000").script().read_text()
    assert "print" not in text
    told = json.loads(folder.work("attempt-000").lineage.read_text())
    assert told["script"]["proof"] == "identical"
    assert told["replies"] == 6  # it says three times that it is done
    assert told["solution_md5"].endswith(".dir")
    environment = state.environments[-1]
    assert told["environment_sha256"] == environment.sha256
    assert any(each.startswith("scikit-learn==") for each in environment.packages)
    client = MlflowClient(tracking_uri=tracking_uri(project))
    runs = json.loads(folder.runs.read_text())
    run = client.get_run(runs["attempt-000"])
    assert run.data.tags["comind.script_proof"] == "identical"
    assert run.data.tags["comind.split"] == state.split.key
    assert run.data.params["seed"] == "0"
    files = {each.path for each in client.list_artifacts(run.info.run_id)}
    assert {"lineage.json", "script.py"} <= files


def test_a_refit_keeps_its_program(solved: tuple[Path, str, Path]) -> None:
    """The program of a refit is the pick's, in DVC and in MLflow, with its measures."""
    from mlflow.tracking import MlflowClient

    from comind.adapters.mlflow.database import tracking_uri

    project, campaign, _ = solved
    folder = ProjectFolder(project)
    picked = (folder.solution(campaign, "attempt-000") / "code.py").read_text()
    assert "to_csv('submission.csv'" in picked
    assert (folder.published(campaign, "refit-000") / "code.py").read_text() == picked
    client = MlflowClient(tracking_uri=tracking_uri(project))
    runs = json.loads(folder.campaign(campaign).runs.read_text())
    code = client.download_artifacts(runs["refit-000"], "code.py")
    assert Path(code).read_text().strip() == picked.strip()
    lengths = [
        client.get_run(runs[name]).data.metrics["code_length"] for name in ("attempt-000", "refit-000")
    ]
    assert lengths[0] == lengths[1]


def test_kept_messages_hold_no_key_and_no_validation_label(solved: tuple[Path, str, Path]) -> None:
    """No file of the campaign has the key, and no message the labelled line of a held-out row."""
    project, campaign, _ = solved
    folder = ProjectFolder(project).campaign(campaign)
    split = read_state(folder).split
    assert split is not None
    place = ProjectFolder(project).splits / split.key
    kept = set((place / "public" / "train.csv").read_text().splitlines())
    held_out = set((place / "sealed" / "full" / "train.csv").read_text().splitlines()) - kept
    stores = list(folder.root.glob("*/messages.jsonl"))
    texts = [message.content for path in stores for message in read_messages(path).values()]
    assert len(held_out) == split.validation_rows
    assert any(line in text for text in texts for line in kept), "messages show lines of train.csv"
    assert not any(line in text for text in texts for line in held_out)
    files = [path for path in folder.root.rglob("*") if path.is_file()]
    assert not [path for path in files if _KEY.encode() in path.read_bytes()]


def test_the_model_of_mlflow_gives_the_delivered_predictions(solved: tuple[Path, str, Path]) -> None:
    """The champion predicts test rows, in any order and number, as the delivered submission does."""
    import mlflow
    from mlflow.tracking import MlflowClient

    from comind.adapters.mlflow.campaign import CampaignTracker
    from comind.adapters.mlflow.database import tracking_uri

    project, campaign, _ = solved
    folder = ProjectFolder(project).campaign(campaign)
    state = read_state(folder)
    assert state.split is not None
    public = ProjectFolder(project).splits / state.split.key / "public"
    rows, delivered = pd.read_csv(public / "test.csv"), pd.read_csv(folder.submission)
    client = MlflowClient(tracking_uri=tracking_uri(project))
    run = client.get_run(json.loads(folder.runs.read_text())[campaign])
    assert run.data.tags["comind.model_version"] == "comind-demo-tumours version 1"
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(tracking_uri(project))
    try:
        model = mlflow.pyfunc.load_model("models:/comind-demo-tumours@champion")
    finally:
        mlflow.set_tracking_uri(before)
    pd.testing.assert_frame_equal(model.predict(rows), delivered, check_exact=True)
    some = rows.iloc[[7, 2]]
    found = model.predict(some)
    assert found.to_dict("list") == delivered.iloc[[7, 2]].to_dict("list")
    CampaignTracker(project, campaign).sync()
    assert len(client.search_model_versions("name = 'comind-demo-tumours'")) == 1

    submitted = state.delivered()
    assert submitted is not None
    assert state.proofs[submitted.id].loading_seconds is not None
    [version] = client.search_model_versions("name = 'comind-demo-tumours'")
    assert version.description.startswith("Each prediction loads the models")
    fitted = folder.work(submitted.id).fitted / "model.json"
    before_it = fitted.read_text()
    fitted.write_text('{"scale": 3}')
    changed = model.predict(some)
    fitted.write_text(before_it)
    assert (changed.iloc[:, 1] == 3 * found.iloc[:, 1]).all(), "the models are loaded, not fitted again"


def test_the_champion_is_the_model_that_is_better_beyond_the_noise(
    solved: tuple[Path, str, Path],
) -> None:
    """A campaign with equal predictions leaves the alias; against worse ones of a champion it moves."""
    from comind.adapters.mlflow.campaign import CampaignTracker
    from comind.adapters.mlflow.tracking_store import TrackingStore

    project, campaign, _ = solved
    client, name = TrackingStore(project).client, "comind-demo-tumours"

    def newest() -> Any:
        return max(client.search_model_versions(f"name = '{name}'"), key=lambda each: int(each.version))

    def registered(copy: str) -> tuple[str, bool]:
        """Copy the campaign; return the gate's reason and whether its model is the champion."""
        before = ProjectFolder(project).campaign(campaign)
        folder = ProjectFolder(project).campaign(copy)
        shutil.copytree(
            before.root, folder.root, ignore=shutil.ignore_patterns("log.jsonl", "runs.json")
        )
        for log in before.root.glob("*/log.jsonl"):
            shutil.copy(log, folder.root / log.parent.name)
        with Campaign(folder) as copied:
            for record in read_log(before.log, CAMPAIGN_EVENTS):
                event = record.event
                if isinstance(event, CampaignOpened):
                    event = CampaignOpened(spec=event.spec.model_copy(update={"id": copy}))
                copied.record(event)
        CampaignTracker(project, copy).sync()
        version = newest()
        champion = client.get_model_version_by_alias(name, "champion")
        return version.tags["comind.gate"], champion.version == version.version

    equal, moved = registered("copy-equal")
    assert not moved
    assert equal.startswith(f"not better beyond the noise than {campaign}, the champion: +0 with")
    state = read_state(ProjectFolder(project).campaign("copy-equal"))
    chosen = state.chosen()
    assert chosen is not None
    worse = ProjectFolder(project).campaign("copy-equal").validation_of(chosen)
    table = pd.read_csv(worse)
    worse.write_text(table.assign(benign=1 - table.benign).to_csv(index=False))
    client.set_registered_model_alias(name, "champion", newest().version)
    better, moved = registered("copy-better")
    assert moved, better
    assert better.startswith("better than copy-equal, the champion: +")
    for copy in ("copy-equal", "copy-better"):
        shutil.rmtree(ProjectFolder(project).campaign(copy).root)


def test_a_fresh_clone_gives_the_same_submission(solved: tuple[Path, str, Path], clone: Path) -> None:
    """Without cache and tree, every published solution is identical; the contract's keys are there."""
    _, campaign, _ = solved
    ran = comind("reproduce", campaign, "--all", "--out", clone, "--json")
    assert ran.exit_code == 0, ran.stderr
    assert set(ran.json) >= _CONTRACT
    assert ran.json["verdict"] == "identical"
    assert ran.json["submission_sha256"] == ran.json["expected_sha256"]
    assert ran.json["score"] == ran.json["expected_score"]
    assert ran.json["environment_matches"] is True
    assert sorted(part["attempt"] for part in ran.json["parts"]) == [
        "attempt-000",
        "attempt-001",
        "refit-000",
    ]
    assert not (clone / "runs").exists()
    steps = [line for line in ran.stderr.splitlines() if line.startswith("comind reproduce: ")]
    assert steps[0] == "comind reproduce: starting"
    assert any("script 3 of 3: attempt-" in line for line in steps)
    assert any("refit-000: identical after " in line for line in steps)


def test_what_differs_in_the_environment_is_told(
    solved: tuple[Path, str, Path], clone: Path, tmp_path: Path
) -> None:
    """Each package that is another one now has a line; the verdict is about the submission alone."""
    _, campaign, _ = solved
    for number in range(25):
        (tmp_path / f"another_{number:02d}-1.0.dist-info").mkdir()
    found = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    ran = comind("reproduce", campaign, "--out", clone, PYTHONPATH=found)
    assert ran.exit_code == 0, ran.stderr
    assert "compared, not rebuilt:\nenvironment    another-00 1.0 instead of missing\n" in ran.stdout
    assert "and 5 more: see --json" in ran.stdout
    assert "verdict      identical" in ran.stdout


def test_an_attempt_is_found_by_its_mlflow_run(solved: tuple[Path, str, Path], clone: Path) -> None:
    """The id of an MLflow run names an attempt also without MLflow; a wrong name is one line."""
    project, campaign, _ = solved
    runs = json.loads(ProjectFolder(project).campaign(campaign).runs.read_text())
    told = reproduce_submissions(clone, runs["attempt-001"], sandbox=None, everything=False)
    assert (told["attempt"], told["verdict"]) == ("attempt-001", "identical")
    ran = comind("reproduce", "nobody", "--out", clone, "--json")
    assert ran.exit_code == 2
    assert "there is no campaign or run 'nobody'" in ran.json["error"]["message"]


def test_lineage_is_told_and_drawn(solved: tuple[Path, str, Path], clone: Path) -> None:
    """A tree from the submission to its ideas, the same from a clone; two graph languages."""
    project, campaign, _ = solved
    ran = comind("lineage", campaign, "--out", project)
    assert ran.exit_code == 0, ran.stderr
    assert f"└─ solution {_picked(project, campaign)[0]}: " in ran.stdout
    assert "[accuracy 0.58" in ran.stdout
    name = f"{campaign}/attempt-000"
    here, there = lineage(project, name), lineage(clone, name)
    assert "└─ idea " in as_tree(here)
    assert "idea idea-001: Scale the columns." in as_tree(here)
    assert [node["id"] for node in here["nodes"] if node["kind"] in ("draft", "idea", "solution")] == [
        node["id"] for node in there["nodes"] if node["kind"] in ("draft", "idea", "solution")
    ]
    assert there["missing"]
    assert as_tree(here).count("\n") >= len(here["nodes"])
    assert as_mermaid(here).count(" --> ") == as_dot(here).count(" -> ") >= len(here["nodes"]) - 1


def test_an_agreeing_project_is_left_alone(solved: tuple[Path, str, Path]) -> None:
    """Repair finds nothing wrong, changes nothing, and keeps the ids of MLflow's runs."""
    project, campaign, _ = solved
    before = (
        campaign_commit(project, campaign),
        ProjectFolder(project).campaign(campaign).runs.read_text(),
    )
    told = repair(project, None, from_scratch=False)
    assert (told["disagreements"], told["repaired"]) == ([], [])
    after = (
        campaign_commit(project, campaign),
        ProjectFolder(project).campaign(campaign).runs.read_text(),
    )
    assert after == before


def test_a_clone_can_be_repaired(solved: tuple[Path, str, Path], tmp_path: Path) -> None:
    """Where nothing but the ref is, MLflow is written from its logs; only the data has to be fetched."""
    _, campaign, origin = solved
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", origin, clone], check=True, capture_output=True)
    _git(clone, "fetch", "--quiet", "origin", "refs/comind/*:refs/comind/*")
    ensure_repository(clone)
    told = repair(clone, campaign, from_scratch=False)
    assert f"{campaign}: MLflow was rebuilt from the logs" in told["repaired"]
    assert all("neither here nor in DVC's cache" in line for line in told["disagreements"])


@contextmanager
def _flipped(path: Path, where: int = -3) -> Iterator[None]:
    """One bit of a file is another one, for the length of the block."""
    content = path.read_bytes()
    mode = path.stat().st_mode
    changed = bytearray(content)
    changed[where] ^= 1
    path.chmod(mode | stat.S_IWUSR)
    path.write_bytes(changed)
    try:
        yield
    finally:
        path.write_bytes(content)
        path.chmod(mode)


def _cached(project: Path, name: str, inner: str) -> Path:
    """Return where DVC's cache keeps a file of a versioned folder."""
    import yaml

    pointer = yaml.safe_load((project / f"{name}.dvc").read_text())["outs"][0]["md5"]
    listing = cached_object(project, pointer)
    md5 = next(each["md5"] for each in json.loads(listing.read_text()) if each["relpath"] == inner)
    return cached_object(project, md5)


def _picked(project: Path, campaign: str) -> tuple[str, str]:
    """Return the final pick and the other attempt; they tie, so their running time decides."""
    state = read_state(ProjectFolder(project).campaign(campaign))
    other = {"attempt-000": "attempt-001", "attempt-001": "attempt-000"}
    return state.picked.work_id, other[state.picked.work_id]


def _split_of(project: Path, campaign: str) -> str:
    return read_state(ProjectFolder(project).campaign(campaign)).split.key


def _versioned(project: Path, campaign: str) -> dict[str, Path]:
    """Return what a submission rests on, by the words that tell of it."""
    folder = ProjectFolder(project)
    state = read_state(folder.campaign(campaign))
    split = folder.splits / state.split.key
    picked, other = _picked(project, campaign)
    work = folder.campaign(campaign).work(picked)
    solution = folder.solution(campaign, picked)
    other_name = f"data/solutions/{campaign}/{other}"
    return {
        "train.csv": split / "public" / "train.csv",
        "validation_answers.csv": split / "sealed" / "validation_answers.csv",
        f"{picked}: checkpoints/model.json": solution / "checkpoints" / "model.json",
        f"{other}: in DVC's cache: report.md is damaged": _cached(project, other_name, "report.md"),
        "script.py": work.script(),
        "lineage.json": work.lineage,
        "step-003/submission.csv": work.test_submission(3),
    }


def test_repair_names_a_flipped_byte(solved: tuple[Path, str, Path]) -> None:
    """One changed bit in anything that a submission rests on is told in a line that names the file."""
    project, campaign, _ = solved
    with ExitStack() as stack:
        for path in _versioned(project, campaign).values():
            stack.enter_context(_flipped(path))
        told = repair(project, campaign, from_scratch=False)["disagreements"]
    for words in _versioned(project, campaign):
        assert any(words in line for line in told), (words, told)
    assert all("\n" not in line for line in told)
    assert repair(project, campaign, from_scratch=False)["disagreements"] == []


def test_repair_names_a_changed_log(solved: tuple[Path, str, Path]) -> None:
    """A changed bit in a recorded reply, or in the campaign's log, is told with its line."""
    project, campaign, _ = solved
    folder = ProjectFolder(project).campaign(campaign)
    replies = folder.work("attempt-000").log
    with (
        _flipped(replies, replies.read_bytes().index(b"call-answered") + 60),
        _flipped(folder.log, -30),
    ):
        told = repair(project, campaign, from_scratch=False)["disagreements"]
    for log in (replies, folder.log):
        assert any(f"{log}, line " in line and "checksum" in line for line in told), told
    assert any("MLflow was left as it is" in line for line in told)


@pytest.mark.parametrize(
    ("what", "kind", "said"),
    [
        ("split", DataError, "train.csv is not what was versioned"),
        ("checkpoint", DataError, "checkpoints/model.json is not what was versioned"),
        ("expected", DataError, "submission.csv is not what was versioned"),
        ("reply", LogError, "checksum mismatch"),
        ("log", LogError, "checksum mismatch"),
        ("script", DataError, "is not the script that was recorded"),
    ],
)
def test_reproduce_refuses_a_flipped_byte(
    solved: tuple[Path, str, Path], tmp_path: Path, what: str, kind: type[ComindError], said: str
) -> None:
    """Damaged data, logs and scripts are never run or compared with; the error says what is damaged."""
    project, campaign, origin = solved
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", origin, clone], check=True, capture_output=True)
    _git(clone, "fetch", "--quiet", "origin", "refs/comind/*:refs/comind/*")
    picked, _ = _picked(project, campaign)
    if what in ("split", "checkpoint", "expected"):
        name = {
            "split": (f"data/splits/{_split_of(project, campaign)}/public", "train.csv"),
            "checkpoint": (f"data/solutions/{campaign}/{picked}", "checkpoints/model.json"),
            "expected": (f"data/refits/{campaign}/refit-000", "submission.csv"),
        }[what]
        # The remote's own copy; DVC's remotes lay files out as its cache does.
        cached = _cached(project, *name)
        stored = project.parent / "store" / cached.relative_to(project / ".dvc" / "cache")
        with _flipped(stored), pytest.raises(kind, match=said):
            reproduce_submissions(clone, campaign, sandbox=None, everything=False)
        return
    name = {
        "reply": f"runs/{campaign}/think-000/log.jsonl",
        "log": f"runs/{campaign}/log.jsonl",
        "script": f"runs/{campaign}/{picked}/script.py",
    }[what]
    file = clone / name
    file.parent.mkdir(parents=True)
    file.write_text(_git(clone, "show", f"refs/comind/{campaign}:{name}"))
    with _flipped(file, file.read_bytes().index(b'"at"') if what != "script" else -10):
        commit_files(clone, campaign_ref(campaign), [file], "changed")
    shutil.rmtree(clone / "runs")
    with pytest.raises(kind, match=said):
        reproduce_submissions(clone, campaign, sandbox=None, everything=False)


def test_a_damaged_input_is_drift_with_exit_2(solved: tuple[Path, str, Path], tmp_path: Path) -> None:
    """The command line says drift, the reason in one line, and a failure."""
    project, campaign, origin = solved
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", origin, clone], check=True, capture_output=True)
    _git(clone, "fetch", "--quiet", "origin", "refs/comind/*:refs/comind/*")
    file = clone / f"runs/{campaign}/{_picked(project, campaign)[0]}/script.py"
    file.parent.mkdir(parents=True)
    file.write_text("print('something else')\n")
    commit_files(clone, campaign_ref(campaign), [file], "changed")
    ran = comind("reproduce", campaign, "--out", clone, "--json")
    assert ran.exit_code == 2
    assert (ran.json["verdict"], ran.json["error"]["kind"]) == ("drift", "data")


def test_another_result_is_drift(solved: tuple[Path, str, Path], tmp_path: Path) -> None:
    """A script that says otherwise than it was recorded to do gives drift with the first difference."""
    from comind.grading.agreement import compare_submissions

    expected, found = tmp_path / "a.csv", tmp_path / "b.csv"
    expected.write_text("id,y\n1,0.5\n2,0.25\n")
    found.write_text("id,y\n1,0.5000000001\n2,0.25\n")
    assert compare_submissions(expected, found).verdict == "equivalent"
    found.write_text("id,y\n1,0.5\n2,0.75\n")
    told = compare_submissions(expected, found)
    assert told.verdict == "drift"
    assert told.difference == "row 3, column y: 0.75 instead of 0.25; 1 of 2 rows differ"


def test_lost_mlflow_runs_come_back(solved: tuple[Path, str, Path], tmp_path: Path) -> None:
    """Without its database, or with a doubled run, repair makes one run for each attempt again."""
    from mlflow.tracking import MlflowClient

    from comind.adapters.mlflow.database import tracking_uri

    project, campaign, _ = solved
    copy = tmp_path / "copy"
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns("mlruns", ".prefect"), symlinks=True)
    told = repair(copy, campaign, from_scratch=False)
    assert told["disagreements"] == []
    assert told["repaired"] == [f"{campaign}: MLflow was rebuilt from the logs"]
    client = MlflowClient(tracking_uri=tracking_uri(copy))
    experiment = client.get_experiment_by_name("demo-tumours").experiment_id
    names = sorted(run.info.run_name for run in client.search_runs([experiment]))
    assert names == ["attempt-000", "attempt-001", campaign, "refit-000"]
    [parent] = client.search_runs([experiment], f"attributes.run_name = '{campaign}'")
    assert "campaign.html" in [each.path for each in client.list_artifacts(parent.info.run_id)]
    doubled = client.search_runs([experiment], "tags.`comind.attempt` = 'attempt-000'")[0]
    client.create_run(experiment, tags=doubled.data.tags, run_name="attempt-000")
    assert (
        "1 duplicate MLflow runs were deleted"
        in repair(copy, campaign, from_scratch=False)["repaired"][0]
    )
    assert sorted(run.info.run_name for run in client.search_runs([experiment])) == names
    (copy / "runs" / campaign / "attempt-000" / "log.jsonl").unlink()
    restored = repair(copy, campaign, from_scratch=False)
    assert any(
        "attempt-000/log.jsonl was restored from the ref" in line for line in restored["repaired"]
    )
    assert restored["disagreements"] == []


def test_a_damaged_mlflow_is_told_and_written_anew(
    solved: tuple[Path, str, Path], tmp_path: Path
) -> None:
    """A file that is no database any more is one line to who meets it; repair sets it aside."""
    from mlflow.tracking import MlflowClient

    from comind.adapters.mlflow.campaign import CampaignTracker
    from comind.adapters.mlflow.database import tracking_uri

    project, campaign, _ = solved
    copy = tmp_path / "copy"
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns(".prefect"), symlinks=True)
    database = copy / "mlruns" / "mlflow.db"
    database.write_bytes(b"0" * 4096)
    with pytest.raises(OrchestrationError, match=r"mlflow\.db: file is not a database"):
        CampaignTracker(copy, campaign)
    told = repair(copy, campaign, from_scratch=False)
    assert told["disagreements"] == []
    assert any(f"was moved to {database}.damaged" in line for line in told["repaired"])
    client = MlflowClient(tracking_uri=tracking_uri(copy))
    experiment = client.get_experiment_by_name("demo-tumours").experiment_id
    names = sorted(run.info.run_name for run in client.search_runs([experiment]))
    assert names == ["attempt-000", "attempt-001", campaign, "refit-000"]


def test_garbage_collection_keeps_what_is_needed(solved: tuple[Path, str, Path], tmp_path: Path) -> None:
    """Nothing of a campaign goes; with --finals other solutions go, and the final still reproduces."""
    project, campaign, _ = solved
    copy = tmp_path / "copy"
    shutil.copytree(project, copy, symlinks=True)
    (copy / "stray.txt").write_text("nobody needs it")
    from comind.adapters.dvc.versioning import version

    version(copy, [copy / "stray.txt"])
    (copy / "stray.txt.dvc").unlink()
    shutil.rmtree(copy / "data")  # the pointers are in the ref alone
    assert collect_garbage(copy, finals_only=False, dry=True) == (1, [campaign])
    assert collect_garbage(copy, finals_only=False, dry=False) == (1, [campaign])
    with _away(project.parent / "store"):
        _check_finals(copy, campaign, _picked(project, campaign)[1])


def _check_finals(copy: Path, campaign: str, other: str) -> None:
    told = reproduce_submissions(copy, campaign, sandbox=None, everything=True)
    assert told["verdict"] == "identical"
    dropped, _ = collect_garbage(copy, finals_only=True, dry=False)
    assert dropped > 0
    assert (
        reproduce_submissions(copy, campaign, sandbox=None, everything=False)["verdict"] == "identical"
    )
    with pytest.raises(ComindError):
        reproduce_submissions(copy, f"{campaign}/{other}", sandbox=None, everything=False)


@contextmanager
def _away(folder: Path) -> Iterator[None]:
    """Let a folder be elsewhere for the length of the block."""
    folder.rename(folder.with_name("away"))
    yield
    folder.with_name("away").rename(folder)
