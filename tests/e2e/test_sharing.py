"""A campaign is pushed to real remotes, and found by clones and by DVC itself."""

import os
import subprocess
from pathlib import Path

import pytest

from comind.campaign.log.campaign_folders import ProjectFolder
from tests.e2e.command import SCRIPT, Ran, comind
from tests.e2e.forked import run_forked

_IDENTITY = ("-c", "user.name=u", "-c", "user.email=u@x")
_SETTINGS = (".dvc/config", ".dvcignore", ".gitignore", "dvc.yaml", "params.yaml", "prefect.yaml")


def _git(folder: Path, *arguments: str | Path) -> str:
    command = ["git", "-C", str(folder), *_IDENTITY, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _dvc(folder: Path, *arguments: str) -> Ran:
    said = folder.with_name("stdout"), folder.with_name("stderr")
    code = run_forked(arguments, folder, os.environ, said, seconds=280, program="dvc")
    return Ran(code, *(path.read_text() for path in said))


def _settings(folder: Path) -> dict[str, str]:
    return {name: (folder / name).read_text() for name in _SETTINGS}


class _Shared:
    """A project with a campaign, its git remote, and a folder for DVC's remote."""

    def __init__(self, root: Path) -> None:
        self.project, self.origin, self.store = root / "project", root / "origin.git", root / "store"
        self.campaign = ""

    def clone(self, folder: Path, *refs: str) -> Path:
        """Clone as README.md says."""
        subprocess.run(["git", "clone", "--quiet", self.origin, folder], check=True)
        _git(folder, "fetch", "--quiet", "origin", *refs)
        return folder


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, shared_server: str) -> _Shared:
    """A project as `comind init` makes it, with its first commit at `origin`, and a campaign."""
    shared = _Shared(tmp_path_factory.mktemp("shared here"))
    project = shared.project
    made = comind("init", project)
    assert made.exit_code == 0, made.stderr
    subprocess.run(["git", "init", "--quiet", "--bare", shared.origin], check=True)
    _git(project, "remote", "add", "origin", shared.origin)
    _git(project, "add", ".")
    _git(project, "commit", "--quiet", "-m", "A project.")
    _git(project, "push", "--quiet", "-u", "origin", "HEAD")
    params = project / "params.yaml"  # a change without a commit
    params.write_text(params.read_text().replace("coders: 4 ", "coders: 3 "))
    ran = comind(
        *("solve", "demo-tumours", "--model", f"scripted:{SCRIPT}", "--baseline", "none", "--no-refit"),
        *("--iterations", "1", "--coders", "1", "--steps", "4", "--out", project, "--json"),
    )
    assert ran.exit_code == 0, ran.stderr
    shared.campaign = ran.json["campaign"]
    return shared


def test_a_campaign_is_shared_by_two_commands(shared: _Shared, tmp_path: Path) -> None:
    """What is missing is said in a line each; clones reproduce, and DVC applies and leaves settings."""
    project, campaign = shared.project, shared.campaign
    refused = comind("push", campaign, "--out", project)
    assert refused.exit_code == 4
    assert len(refused.error_lines) == 1
    assert "dvc remote add -d NAME FOLDER-OR-URL" in refused.stderr

    # The remote is relative and uncommitted, and the campaign is older than it.
    assert _dvc(project, "remote", "add", "-d", "store", "../store").exit_code == 0
    pushed = comind("push", campaign, "--out", project, "--json")
    assert pushed.exit_code == 0, pushed.stderr
    assert pushed.json["pushed"][0]["objects"] > 0
    [line] = pushed.json["missing_in_clones"]
    assert "git add .dvc/config && git commit -m 'DVC remote' && git push" in line

    log = ProjectFolder(project).campaign(campaign).log
    before, logged = _settings(project), log.read_bytes()
    applied = _dvc(project, "exp", "apply", campaign)
    assert applied.exit_code == 0, applied.stderr
    assert _settings(project) == before
    assert log.read_bytes() == logged
    assert not (project / "campaign").exists()
    assert "runs/" not in _dvc(project, "metrics", "show").stdout
    assert "validation_score" in _dvc(project, "exp", "show", "--csv").stdout

    _check_clones(shared, tmp_path)


def _check_clones(shared: _Shared, tmp_path: Path) -> None:
    project, campaign = shared.project, shared.campaign
    first = shared.clone(tmp_path / "first", "refs/comind/*:refs/comind/*")
    (tmp_path / "store").symlink_to(shared.store)
    kept = _settings(first)
    ran = comind("reproduce", campaign, "--out", first, "--json")
    assert ran.exit_code == 0, ran.stderr
    assert ran.json["verdict"] == "identical"
    assert _settings(first) == kept
    assert "[core]" in kept[".dvc/config"]
    assert "remote" not in kept[".dvc/config"]

    # DVC's own experiments need a URL or an absolute path.
    assert _dvc(project, "remote", "modify", "store", "url", str(shared.store)).exit_code == 0
    _git(project, "add", ".dvc/config")
    _git(project, "commit", "--quiet", "-m", "DVC remote")
    [line] = comind("push", campaign, "--out", project, "--json").json["missing_in_clones"]
    assert "is unpushed" in line
    _git(project, "push", "--quiet")
    assert comind("push", campaign, "--out", project, "--json").json["missing_in_clones"] == []

    second = shared.clone(tmp_path / "second", "refs/comind/*:refs/comind/*")
    kept = _settings(second)
    pulled = _dvc(second, "exp", "pull", "origin", campaign)
    assert pulled.exit_code == 0, pulled.stderr
    applied = _dvc(second, "exp", "apply", campaign)
    assert applied.exit_code == 0, applied.stderr
    used = (project / "params.yaml").read_text()  # the campaign's, changed without a commit
    assert used != kept["params.yaml"]
    assert _settings(second) == kept | {"params.yaml": used}
    assert list(second.glob("data/solutions/*/attempt-000/code.py"))
    ran = comind("reproduce", campaign, "--out", second, "--json")
    assert (ran.exit_code, ran.json["verdict"]) == (0, "identical")

    shared.store.rename(shared.store.with_name("elsewhere"))
    third = shared.clone(tmp_path / "third", "refs/comind/*:refs/comind/*")
    lost = comind("reproduce", campaign, "--out", third)
    assert lost.exit_code == 4
    [line] = lost.error_lines
    assert "data/splits/" in line
    assert "dvc remote add --local" in lost.stderr
