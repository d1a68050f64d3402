"""The root of the repository holds what is listed here, and nothing else."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]

_FOLDERS = {".ci", ".dvc", ".github", "benchmarks", "comind", "docs", "flows", "infra", "mlruns"}
_FOLDERS |= {"requirements", "tasks", "tests"}
_FILES = {
    ".dvcignore",
    ".gitattributes",
    ".gitignore",
    ".pre-commit-config.yaml",
    "AGENTS.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "SECURITY.md",
    "dvc.yaml",
    "params.yaml",
    "prefect.yaml",
    "pyproject.toml",
}


def _versioned() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return [Path(line) for line in listed.split("\0") if line]


def test_nothing_else_is_at_the_root() -> None:
    """A file that a tool left at the root cannot be committed unseen."""
    assert {path.parts[0] for path in _versioned()} == _FOLDERS | _FILES


def test_no_database_is_versioned() -> None:
    """No SQLite database or log is among the versioned files."""
    stray = {".db", ".log", ".sqlite", ".sqlite3", ".pid"}
    assert not [path for path in _versioned() if path.suffix in stray]
