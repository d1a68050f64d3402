"""Documentation: links resolve, named files and tests exist, the glossary stays short."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_AT_THE_ROOT = ("AGENTS.md", "CONTRIBUTING.md", "README.md", "SECURITY.md")
PAGES = [*(ROOT / name for name in _AT_THE_ROOT), *sorted((ROOT / "docs").rglob("*.md"))]
KEPT = [page for page in PAGES if page.name != "lab-notes.md"]  # the lab notes are dated records

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_PATH = re.compile(
    r"(?<![\w./-])((?:comind|flows|tasks|tests|docs|infra|benchmarks)/[\w./-]+\.(?:py|md|yaml|sh))\b"
)
PACKAGES = ("comind", "flows", "tasks", "tests")
_PROGRAMS = {"`zmq.py`", "`json.py`", "`sitecustomize.py`"}  # what attacks write
_GLOSSARY_WORDS = 30


def _anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _broken_links(page: Path) -> list[str]:
    broken = []
    for link in _LINK.findall(page.read_text()):
        path, _, anchor = link.partition("#")
        if "://" in path:
            continue
        target = (page.parent / path).resolve() if path else page
        is_known = not anchor or (target.suffix == ".md" and anchor in _anchors(target))
        if not target.exists() or not is_known:
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_resolve(page: Path) -> None:
    """Every relative link of a page leads to a file, and its anchor to a heading."""
    assert not _broken_links(page)


@pytest.mark.parametrize("page", KEPT, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_named_files_exist(page: Path) -> None:
    """Every file of the repository that a page names by its path exists."""
    named = set(_PATH.findall(page.read_text()))
    assert not {name for name in named if not (ROOT / name).exists()}


@pytest.mark.parametrize("name", ["architecture.md", "kaggle.md", "reading-order.md", "security.md"])
def test_named_modules_exist(name: str) -> None:
    """Every module that the page names, by its path or the end of it, exists."""
    text = (ROOT / "docs" / name).read_text()
    named = set(re.findall(r"`(?:\w+/)*\w+\.py`", text)) - _PROGRAMS
    files = [
        f"/{path.relative_to(ROOT)}" for package in PACKAGES for path in (ROOT / package).rglob("*.py")
    ]
    assert not {each for each in named if not any(file.endswith(f"/{each[1:-1]}") for file in files)}


def test_each_mechanism_of_comind_names_its_tests() -> None:
    """Each row of the tables of docs/comind.md ends with tests, or files of tests, that exist."""
    page = (ROOT / "docs" / "comind.md").read_text().partition("## What the papers state")[2]
    rows = [line for line in page.splitlines() if line.startswith("|") and "---" not in line]
    wrong = []
    for row in rows:
        last = row.strip("|").rpartition("|")[2].strip()
        for named in re.findall(r"`([^`]+)`", last):
            file, _, name = named.partition("::")
            path = ROOT / "tests" / file
            if not path.exists() or (name and f"def {name}(" not in path.read_text()):
                wrong.append(named)
        wrong += [row] if last != "tests" and "`" not in last else []
    assert wrong == []
    assert len(rows) > 40


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    """A missing file and a missing heading are reported; links to the network are not checked."""
    (tmp_path / "other.md").write_text("# What's new\n")
    page = tmp_path / "page.md"
    page.write_text("[a](other.md#whats-new) [b](other.md#old) [c](no.md) [d](https://example.org)")
    assert _broken_links(page) == ["other.md#old", "no.md"]


def test_the_glossary_is_short() -> None:
    """The glossary has at most thirty words, each once."""
    rows = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE)
    words = [row for row in rows if row != "word"]
    assert len(words) == len(set(words)) <= _GLOSSARY_WORDS


def test_no_file_in_git_is_ignored() -> None:
    """What programs write while they run, such as MLflow's database, is ignored and not committed."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--ignored", "--exclude-per-directory=.gitignore"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert listed.stdout == ""
    assert "/mlflow.db" in (ROOT / ".gitignore").read_text().splitlines()
