"""Vocabulary and names: field words where the thing is done, few vague words, unique file names.

`words.yaml` holds the present counts. They may fall, never rise; when one falls, the file has to be
updated, so that it cannot rise again. After a change of words, regenerate it and look at the difference:

    .venv/bin/python -m tests.architecture.test_words && git diff tests/architecture/words.yaml
"""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PACKAGES = ("comind", "flows", "tasks")
Counted = Mapping[str, int | str]
COUNTED = Path(__file__).with_name("words.yaml")

FIELD_WORDS = {
    "append-only": "comind/eventlog",
    "artifact": "tasks",
    "atomic": "comind/system",
    "backoff": "comind/kaggle",
    "bootstrap": "comind/metrics",
    "budget": "comind/campaign",
    "cache": "tasks",
    "callback": "comind/session",
    "checksum": "comind/eventlog",
    "completion": "comind/llm",
    "confidence interval": "comind/metrics",
    "context window": "comind/llm",
    "cross-validation": "comind/baseline",
    "deployment": "flows",
    "embedding": "comind/llm",
    "ensemble": "comind/agents",
    "entry point": "comind/wiring",
    "fingerprint": "comind/campaign",
    "holdout": "comind/splits",
    "hyperparameter": "comind/baseline",
    "idempotent": "flows",
    "leaderboard": "comind/live",
    "leakage": "comind/splits",
    "lineage": "comind/campaign",
    "lock": "comind/eventlog",
    "namespace": "comind/session",
    "out-of-fold": "comind/grading",
    "projection": "comind/app",
    "prompt": "comind/llm",
    "rate limit": "comind/kaggle",
    "replay": "comind/campaign",
    "resume": "comind/campaign",
    "retry": "comind/llm",
    "sandbox": "comind/session",
    "schema": "comind/llm",
    "seed": "comind/splits",
    "snapshot": "comind/community",
    "timeout": "comind/llm",
    "token": "comind/llm",
    "truncate": "comind/llm",
}
"""Forty words of the field, each with the package that does it, whose docstrings use the word."""

BANNED = {
    "whoever": "whoever",
    "nobody": "nobody",
    "somebody": "somebody|someone",
    "anybody": "anybody|anyone",
    "stranger": "strangers?",
    "handed": "handed",
    "hands in": "hands? in|handing",
    "told": "told",
    "tells": "tells?",
    "stands": "stands?|stood",
    "lies": "lies",
    "goes on": "go(?:es|ing)? on|went on",
    "for good": "for good",
    "bears": "bears?",
    "behind": "behind",
    "said": "said",
}
"""Words that say less than the field's, as patterns: not `told` but shown, logged, streamed."""

_QUESTION = re.compile(r"(?:What|Which|Who|Whoever|Whose|Where|Why|How|May|Is|Are|Does|Do|Can)\b")


def _modules(root: Path, *packages: str) -> Iterator[Path]:
    """Yield the Python files of packages, without the programs of the demos, which are data."""
    for package in packages or PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            if not {"communities", "recordings"} & {*path.parts}:
                yield path


def _pages(root: Path) -> Iterator[Path]:
    """Yield the pages that are kept up to date; the lab notes are dated records."""
    for path in (root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))):
        if path.exists() and path.name != "lab-notes.md":
            yield path


def _docstrings(root: Path, *packages: str) -> Iterator[str]:
    for path in _modules(root, *packages):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield ast.get_docstring(node) or ""


def _forms(word: str) -> re.Pattern[str]:
    """Return a pattern for a word and its forms, such as retries; a blank also matches a dash."""
    stem, ends = word, "(?:s|es|ed|ing|ly|ally)?"
    if word.endswith("y"):
        stem, ends = word[:-1], "(?:y|ies|ied|ying)"
    elif word.endswith("e"):
        stem, ends = word[:-1], "(?:e|es|ed|ing|ion)"
    stem = re.sub("[ -]", lambda _: r"[\s-]+", stem)
    return re.compile(rf"\b{stem}{ends}\b", re.IGNORECASE)


def _missing_words(root: Path) -> dict[str, str]:
    """Return the field's words that no docstring of their package uses, and the package."""
    texts = {package: "\n".join(_docstrings(root, package)) for package in {*FIELD_WORDS.values()}}
    return {word: place for word, place in FIELD_WORDS.items() if not _forms(word).search(texts[place])}


def _banned_words(paths: Iterator[Path]) -> dict[str, int]:
    """Count each banned word that occurs in files."""
    text = "\n".join(path.read_text() for path in paths)
    counts = {}
    for word, pattern in BANNED.items():
        spaced = pattern.replace(" ", r"\s+")
        counts[word] = len(re.findall(rf"\b(?:{spaced})\b", text, re.IGNORECASE))
    return {word: count for word, count in counts.items() if count}


def _questions(root: Path) -> dict[str, int]:
    """Count docstrings that begin with a question, by package."""
    counts = {
        package.relative_to(root).as_posix(): sum(
            bool(_QUESTION.match(text))
            for text in _docstrings(root, package.relative_to(root).as_posix())
        )
        for package in (*sorted((root / "comind").glob("[a-z]*/")), root / "flows", root / "tasks")
    }
    return {package: count for package, count in counts.items() if count}


def _shared_file_names(root: Path) -> dict[str, int]:
    """Count the modules of comind that share a file name; those of comind/cli are named as commands."""
    names = Counter(path.name for path in _modules(root, "comind") if path.parent.name != "cli")
    return {name: names[name] for name in sorted(names) if names[name] > 1 and not name.startswith("__")}


def _typing_imports(root: Path) -> dict[str, str]:
    """Return first-party imports below TYPE_CHECKING, which the import contracts do not check."""
    found = {}
    for path in _modules(root):
        imported = [
            child.module or ""
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            for child in ast.walk(node)
            if isinstance(child, ast.ImportFrom)
        ]
        ours = sorted(module for module in imported if module.split(".")[0] in PACKAGES)
        if ours:
            found[path.relative_to(root).as_posix()] = ", ".join(ours)
    return found


COUNTS: dict[str, Callable[[Path], Counted]] = {
    "missing words of the field": _missing_words,
    "banned words in Python files": lambda root: _banned_words(_modules(root)),
    "banned words in README, CONTRIBUTING and docs": lambda root: _banned_words(_pages(root)),
    "docstrings that begin with a question": _questions,
    "file names that modules of comind share": _shared_file_names,
    "imports of ours for types alone": _typing_imports,
}


def _more(now: Counted, allowed: Counted) -> dict[str, int | str]:
    """Return what is counted above what is allowed, or is not allowed at all."""
    return {
        key: value
        for key, value in now.items()
        if (value > allowed.get(key, 0) if isinstance(value, int) else value != allowed.get(key))
    }


@pytest.mark.parametrize("name", COUNTS)
def test_counts_only_fall(name: str) -> None:
    """No count is above the one in words.yaml; when one has fallen, the file has to be updated."""
    now, allowed = COUNTS[name](ROOT), yaml.safe_load(COUNTED.read_text())[name]
    assert not _more(now, allowed), f"{name}: above words.yaml"
    assert now == allowed, f"{name}: lower than words.yaml, regenerate it (see the module's docstring)"


def test_there_are_forty_words() -> None:
    """Forty words of the field are looked for."""
    assert len(FIELD_WORDS) == 40


@pytest.mark.parametrize(
    ("word", "text", "is_used"),
    [
        ("retry", "It retries twice.", True),
        ("retry", "Retrieve the page.", False),
        ("rate limit", "A rate-limited client.", True),
        ("truncate", "Truncation keeps both ends.", True),
        ("token", "A tokeniser.", False),
    ],
)
def test_forms_of_a_word(tmp_path: Path, word: str, text: str, is_used: bool) -> None:
    """A word counts in its forms, not as a part of another word, and in docstrings alone."""
    module = tmp_path / FIELD_WORDS[word] / "stray.py"
    module.parent.mkdir(parents=True)
    module.write_text(f'"""{text}"""\n# {word}\n')
    assert (word not in _missing_words(tmp_path)) is is_used


def test_every_violation_is_counted(tmp_path: Path) -> None:
    """Banned words count in code and pages, not in lab notes; shared names, typing imports are found."""
    for name in (
        "comind/llm/base.py",
        "comind/live/base.py",
        "docs/page.md",
        "docs/lab-notes.md",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text('"""What nobody\nreads."""\n')
    (tmp_path / "flows").mkdir()
    (tmp_path / "flows" / "late.py").write_text(
        "if TYPE_CHECKING:\n    from comind.llm.base import Model\n    from docker import Client\n"
    )
    assert _banned_words(_modules(tmp_path)) == {"nobody": 2}
    assert _banned_words(_pages(tmp_path)) == {"nobody": 1}
    assert _questions(tmp_path) == {"comind/live": 1, "comind/llm": 1}
    assert _shared_file_names(tmp_path) == {"base.py": 2}
    assert _typing_imports(tmp_path) == {"flows/late.py": "comind.llm.base"}
    assert _more({"nobody": 2, "retry": "comind/llm"}, {"nobody": 1, "retry": "comind/llm"}) == {
        "nobody": 2
    }
    assert _more({"nobody": 1, "retry": "comind/llm"}, {"nobody": 2}) == {"retry": "comind/llm"}


if __name__ == "__main__":
    counted = {name: dict(count(ROOT)) for name, count in COUNTS.items()}
    COUNTED.write_text(yaml.safe_dump(counted, sort_keys=False))
