"""Projects: made by `comind init`, announced by commands that make one, never in the home folder."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from comind.app.defaults import PARAMS
from comind.app.projects import announce_project, init_project, refuse_shared_folder
from comind.cli.main import main
from comind.errors import UsageError

_ALL = ["git repository", "DVC repository", "params.yaml", "dvc.yaml", "prefect.yaml", ".gitignore"]


@pytest.fixture(autouse=True)
def _settings_of_tools() -> Iterator[None]:
    """Variables that a command sets for its tools end with a test."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


def test_a_project_is_made(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """`comind init DIR --json` makes the folder with its files and repositories, and lists them."""
    folder = tmp_path / "new" / "project"
    assert main(["init", str(folder), "--json"]) == 0
    assert json.loads(capfd.readouterr().out) == {"project": str(folder), "made": _ALL, "kept": []}
    assert (folder / "params.yaml").read_bytes() == PARAMS.read_bytes()
    assert not (folder / "params.yaml").is_symlink()
    assert (folder / ".dvc").is_dir()
    status = ["git", "-C", str(folder), "status", "--porcelain", "--untracked-files=all"]
    new = subprocess.run(status, capture_output=True, text=True, check=True).stdout.split("\n")
    assert {line[3:] for line in new if line} >= {*_ALL[2:]}


def test_a_second_time_changes_nothing(tmp_path: Path) -> None:
    """What exists is kept, a user's own files as well."""
    (tmp_path / "params.yaml").write_text("solve: {coders: 2}\n")
    first, second = init_project(tmp_path), init_project(tmp_path)
    assert (first.made, first.kept) == ([one for one in _ALL if one != "params.yaml"], ["params.yaml"])
    assert (second.made, second.kept) == ([], _ALL)
    assert (tmp_path / "params.yaml").read_text() == "solve: {coders: 2}\n"


def test_a_file_becomes_no_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A name that is taken by a file is refused in one line, with exit code 2."""
    (tmp_path / "taken").touch()
    assert main(["init", str(tmp_path / "taken")]) == 2
    assert f"{tmp_path / 'taken'}: cannot be written to (file exists)" in capsys.readouterr().err


def test_within_a_git_repository_it_has_its_own_dvc(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The repository around the project is used, and named beforehand."""
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    project = tmp_path / "inner"
    project.mkdir()
    announce_project(project)
    assert f"a DVC repository in that of {tmp_path}" in capsys.readouterr().err
    assert init_project(project).made == [one for one in _ALL if one != "git repository"]
    assert not (project / ".git").exists()


def test_a_command_announces_what_it_makes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Outside of a project one line on stderr names the folder and what is made; inside, none."""
    announce_project(tmp_path)
    assert capsys.readouterr().err == (
        f"project: {tmp_path} gets a git and a DVC repository, "
        "and the folders data, runs, mlruns and .prefect\n"
    )
    init_project(tmp_path)
    capsys.readouterr()
    announce_project(tmp_path)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ("init",),
        ("solve", "demo-tumours", "--model", "offline"),
        ("ingest", "--folder", "community"),
        ("track", "titanic"),
        ("knowledge", "build", "--papers", "papers"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_the_home_folder_becomes_no_project(
    arguments: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In the home folder commands end with exit code 2 and one line, and make nothing."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    printed = capsys.readouterr().err.splitlines()
    lines = [line for line in printed if line != f"comind {arguments[0]}: starting"]
    assert lines[0] == f"comind: {tmp_path} is your home folder: no project is made there"
    assert "comind init DIR" in lines[1]
    assert list(tmp_path.iterdir()) == []


def test_the_root_becomes_no_project() -> None:
    """Neither does the root of the file system."""
    with pytest.raises(UsageError, match="root of the file system"):
        refuse_shared_folder(Path("/"))


def test_a_project_in_the_home_folder_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project that was made there before remains one."""
    (tmp_path / ".dvc").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    refuse_shared_folder(tmp_path)


@pytest.mark.parametrize(
    "arguments",
    [("show", "x"), ("lineage", "x"), ("solve", "--resume", "x"), ("report", ".")],
    ids=lambda arguments: arguments[0],
)
def test_reading_makes_nothing(
    arguments: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A command on a campaign, in a folder without one, is bad input and leaves the folder empty."""
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2, capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
