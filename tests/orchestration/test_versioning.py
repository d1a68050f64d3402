"""DVC and git on real repositories: the user's branch does not change, writers take turns."""

import subprocess
import sys
from pathlib import Path

import pytest

from comind.adapters.dvc.garbage_collection import collect_garbage
from comind.adapters.dvc.versioning import (
    cached_object,
    ensure_repository,
    pointer_of,
    recorded_md5,
    version,
)
from comind.adapters.git.refs import (
    campaign_commit,
    campaign_ref,
    commit_files,
    files_at,
    following_ref,
    init_repository,
    remove_experiment,
    update_experiment,
)
from comind.errors import OrchestrationError


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def _user_repository(folder: Path) -> None:
    """Create a user's repository with a commit and a staged file."""
    folder.mkdir(parents=True, exist_ok=True)
    _git(folder, "init", "--quiet")
    (folder / "code.py").write_text("x = 1\n")
    _git(folder, "add", "code.py")
    _git(folder, "-c", "user.name=u", "-c", "user.email=u@x", "commit", "--quiet", "-m", "first")
    (folder / "staged.py").write_text("y = 2\n")
    _git(folder, "add", "staged.py")


def test_a_commit_leaves_the_user_alone(tmp_path: Path) -> None:
    """The ref's first parent is HEAD; branch, index and working tree do not change."""
    _user_repository(tmp_path)
    before = _git(tmp_path, "status", "--porcelain"), _git(tmp_path, "rev-parse", "HEAD")
    log = tmp_path / "runs" / "c1" / "log.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text("{}\n")
    commit = commit_files(tmp_path, campaign_ref("c1"), [log], "c1: started")
    assert _git(tmp_path, "rev-parse", "refs/comind/c1").strip() == commit
    assert _git(tmp_path, "ls-tree", "-r", "--name-only", commit).split() == [
        "code.py",
        "runs/c1/log.jsonl",
    ]
    after = _git(tmp_path, "status", "--porcelain", "--untracked-files=no")
    assert (after, _git(tmp_path, "rev-parse", "HEAD")) == before


def test_the_same_content_is_not_committed_twice(tmp_path: Path) -> None:
    """Without a change there is no new commit; a change is committed on top of the tip."""
    init_repository(tmp_path)
    file = tmp_path / "a"
    file.write_text("1")
    assert campaign_commit(tmp_path, "c1") is None
    first = commit_files(tmp_path, campaign_ref("c1"), [file], "one")
    assert commit_files(tmp_path, campaign_ref("c1"), [file], "one") == first
    file.write_text("2")
    second = commit_files(tmp_path, campaign_ref("c1"), [file], "two")
    assert _git(tmp_path, "rev-parse", f"{second}^").strip() == first
    assert campaign_commit(tmp_path, "c1") == second


def test_files_are_read_from_the_project_within_another_git_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIT_* variables of an enclosing git command, such as a hook, do not redirect a read."""
    project, other = tmp_path / "project", tmp_path / "other"
    for folder in (project, other):
        folder.mkdir()
        init_repository(folder)
    log = project / "runs" / "c1" / "log.jsonl"
    log.parent.mkdir(parents=True)
    log.write_bytes(b"\xff\r\n")
    commit = commit_files(project, campaign_ref("c1"), [log], "c1: started")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert files_at(project, commit) == {"runs/c1/log.jsonl": b"\xff\r\n"}


@pytest.mark.parametrize("fault", ["missing", "damaged"])
def test_files_of_a_commit_are_its_bytes(tmp_path: Path, fault: str) -> None:
    """Empty and binary files are read as they are; an object that cannot be read is named."""
    init_repository(tmp_path)
    contents = {"a": b"", "b": b"\n", "c": bytes(range(256)) * 3, "d": b"last"}
    folder = tmp_path / "runs" / "c1"
    folder.mkdir(parents=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    commit = commit_files(tmp_path, campaign_ref("c1"), sorted(folder.iterdir()), "c1: started")
    read = files_at(tmp_path, commit)
    assert read == {f"runs/c1/{name}": content for name, content in contents.items()}
    command = ["git", "-C", str(tmp_path), "rev-parse", f"{commit}:runs/c1/c"]
    blob = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    stored = tmp_path / ".git" / "objects" / blob[:2] / blob[2:]
    stored.chmod(0o600)
    if fault == "missing":
        stored.unlink()
    else:
        stored.write_bytes(stored.read_bytes()[:20])
    with pytest.raises(OrchestrationError, match=rf"^git holds a damaged object \({blob[:12]}\)$"):
        files_at(tmp_path, commit)


def test_a_project_below_a_repository_uses_it(tmp_path: Path) -> None:
    """A project folder inside a user's repository is versioned there, under its own path."""
    _user_repository(tmp_path)
    project = tmp_path / "sub folder"
    project.mkdir()
    before = _git(tmp_path, "diff", "--cached", "--name-only")
    ensure_repository(project)
    assert not (project / ".git").exists()
    assert (project / ".dvc" / "config").is_file()
    assert _git(tmp_path, "diff", "--cached", "--name-only") == before
    (project / "data").mkdir()
    (project / "data" / "x").write_text("1")
    pointers = version(project, [project / "data" / "x"])
    commit = commit_files(project, campaign_ref("c1"), pointers, "one")
    assert "sub folder/data/x.dvc" in _git(tmp_path, "ls-tree", "-r", "--name-only", commit)


@pytest.mark.parametrize("name", ["", "sub folder", "odd [name]*"])
def test_git_status_shows_the_user_no_logs_or_data(tmp_path: Path, name: str) -> None:
    """Logs, databases and data are ignored without a change to a file of the user's; pointers are not.

    DVC does not see an ignored pointer, so `dvc push` and `dvc gc` would miss its data.
    """
    _user_repository(tmp_path)
    exclude = tmp_path / ".git" / "info" / "exclude"
    exclude.write_text("*.pyc")  # without an end of line
    project = tmp_path / name
    mine = [project / "data" / "mine.csv", project / "data" / "own" / "x.csv"]
    made = [project / "data" / "splits" / "s1" / part for part in ("public", "sealed")]
    made.append(project / "data" / "solutions" / "c1" / "attempt-000")
    others = [
        "runs/c1/log.jsonl",
        "benches/b/results.json",
        "mlruns/mlflow.db",
        ".prefect/x.db",
        "data/live/s.db",
    ]
    others += ["data/demos/d/private/a.csv", "data/downloads/k/train.csv"]
    files = [*mine, *(folder / "a.csv" for folder in made), *(project / other for other in others)]
    for number, file in enumerate(files):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(str(number))
    for _ in range(2):
        ensure_repository(project)
    pointers = version(project, made)
    lines = exclude.read_text().splitlines()
    assert lines[0] == "*.pyc"
    assert len(lines) == len(set(lines))
    shown = _git(tmp_path, "status", "--porcelain", "--untracked-files=all", "-z").split("\0")
    untracked = {tmp_path / line[3:] for line in shown if line.startswith("??")}
    settings = {project / ".dvcignore", project / ".dvc" / "config", project / ".dvc" / ".gitignore"}
    ignoring = {pointer.with_name(".gitignore") for pointer in pointers}  # of DVC
    assert untracked == {*mine, *pointers} | ignoring | settings
    dvc = [sys.executable, "-m", "dvc", "list", ".", "-R", "--dvc-only"]
    listed = subprocess.run(dvc, cwd=project, check=True, capture_output=True, text=True).stdout
    assert set(listed.split()) == {f"{p.with_suffix('').relative_to(project)}/a.csv" for p in pointers}


def test_an_ignored_project_gets_a_repository_of_its_own(tmp_path: Path) -> None:
    """A folder that the enclosing repository ignores gets its own repository."""
    _user_repository(tmp_path)
    (tmp_path / ".gitignore").write_text("/out/\n")
    project = tmp_path / "out"
    project.mkdir()
    ensure_repository(project)
    assert (project / ".git").is_dir()
    ensure_repository(project)


def test_versioned_data_comes_back(tmp_path: Path) -> None:
    """A versioned folder is restored by its `.dvc` file, and versioning it again changes nothing."""
    ensure_repository(tmp_path)
    data = tmp_path / "data" / "split"
    data.mkdir(parents=True)
    (data / "a.csv").write_text("1\n")
    [pointer] = version(tmp_path, [data])
    first = pointer.read_text()
    assert version(tmp_path, [data]) == [pointer_of(data)]
    assert pointer.read_text() == first
    (data / "a.csv").unlink()
    dvc = [sys.executable, "-m", "dvc", "checkout", "--quiet", str(pointer)]
    subprocess.run(dvc, cwd=tmp_path, check=True)
    assert (data / "a.csv").read_text() == "1\n"


def test_concurrent_writers_queue_for_the_lock(tmp_path: Path) -> None:
    """Eight concurrent writers succeed; with DVC's own lock most would fail."""
    ensure_repository(tmp_path)
    program = (
        "import sys; from pathlib import Path; from comind.adapters.dvc.versioning import version\n"
        "root, name = Path(sys.argv[1]), sys.argv[2]\n"
        "(root / name).write_text(name); version(root, [root / name])"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), f"file-{n}"]) for n in range(8)
    ]
    assert [writer.wait(timeout=200) for writer in writers] == [0] * 8
    assert len(list(tmp_path.glob("file-*.dvc"))) == 8


def test_what_dvc_refuses_is_one_line(tmp_path: Path) -> None:
    """A path that does not exist raises an OrchestrationError of one line."""
    ensure_repository(tmp_path)
    with pytest.raises(OrchestrationError, match="DVC cannot version gone") as caught:
        version(tmp_path, [tmp_path / "gone"])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("with_history", [True, False])
def test_garbage_collection_keeps_every_day(tmp_path: Path, with_history: bool) -> None:
    """Data that any day of a followed competition references is kept; other data is deleted."""
    if with_history:
        _user_repository(tmp_path)
    ensure_repository(tmp_path)
    seen = tmp_path / "data" / "seen.txt"
    seen.parent.mkdir()
    hashes = []
    for text in ("never committed", "first day", "second day"):
        seen.unlink(missing_ok=True)
        seen.write_text(text)
        version(tmp_path, [seen])
        hashes.append(recorded_md5(pointer_of(seen)))
        if text != "never committed":
            commit_files(tmp_path, following_ref("somewhere"), [pointer_of(seen)], text)
    dropped, campaigns = collect_garbage(tmp_path, finals_only=True, dry=False)
    assert (dropped, campaigns) == (1, [])
    assert [cached_object(tmp_path, each).is_file() for each in hashes] == [False, True, True]


def _experiments(project: Path) -> list[str]:
    return _git(project, "for-each-ref", "--format=%(refname) %(objectname)", "refs/exps/").splitlines()


def test_a_campaign_is_an_experiment_on_the_commit_where_it_started(tmp_path: Path) -> None:
    """The experiment moves with the campaign's ref, also on a new branch, and stays removed."""
    _user_repository(tmp_path)
    base = _git(tmp_path, "rev-parse", "HEAD").strip()
    name = f"refs/exps/{base[:2]}/{base[2:]}/c1"
    first = commit_files(tmp_path, campaign_ref("c1"), [], "one", {"campaign/metrics.json": "{}"})
    update_experiment(tmp_path, "c1")
    assert _experiments(tmp_path) == [f"{name} {first}"]
    assert _git(tmp_path, "show", f"{first}:campaign/metrics.json") == "{}"
    _git(tmp_path, "-c", "user.name=u", "-c", "user.email=u@x", "commit", "--quiet", "-m", "second")
    second = commit_files(tmp_path, campaign_ref("c1"), [], "two", {"campaign/metrics.json": "{1}"})
    update_experiment(tmp_path, "c1")
    assert _experiments(tmp_path) == [f"{name} {second}"]
    remove_experiment(tmp_path, "c1")
    update_experiment(tmp_path, "c1")
    assert _experiments(tmp_path) == []
    assert campaign_commit(tmp_path, "c1") == second


def test_a_repository_without_commits_has_no_experiments(tmp_path: Path) -> None:
    """DVC has no place for them; the campaign's own ref is made."""
    init_repository(tmp_path)
    commit_files(tmp_path, campaign_ref("c1"), [], "one", {"campaign/metrics.json": "{}"})
    update_experiment(tmp_path, "c1")
    assert _experiments(tmp_path) == []
    assert campaign_commit(tmp_path, "c1")
