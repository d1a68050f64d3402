"""Prompt files say at their top who reads them, and are in direct technical English."""

import re
from pathlib import Path

import pytest

_PACKAGE = Path(__file__).parents[2] / "comind"
_FILES = sorted(_PACKAGE.rglob("prompts/*.j2"))
_HEADER = re.compile(
    r"\{# (Read by: .+\. Its reply decides: .+\.|Part of: .+\. Says: .+\.|Run as: .+\. Does: .+\.) #\}"
)
_MANNERED = re.compile(
    r"\bhand(s|ed|ing)? (it |them |both )?in\b|\bstrangers?\b|\bdo better\b|\bsurprise[sd]?\b|"
    r"\bthere lies\b|\b(is|are) lost\b|\blies? before\b|\bnobody\b|\bwhat came of\b|"
    r"\bmend(ed|s|ing)?\b",
    re.IGNORECASE,
)


def _name(file: Path) -> str:
    return str(file.relative_to(_PACKAGE))


@pytest.mark.parametrize("file", _FILES, ids=_name)
def test_a_prompt_file_says_who_reads_it(file: Path) -> None:
    """The first line is a comment: reader and what the reply decides, or what a part says."""
    first = file.read_text().partition("\n")[0]
    assert _HEADER.fullmatch(first), first


@pytest.mark.parametrize("file", _FILES, ids=_name)
def test_a_prompt_has_no_mannered_words(file: Path) -> None:
    """Phrases that readers of prompts found unclear do not come back."""
    found = [each.group() for each in _MANNERED.finditer(file.read_text())]
    assert found == []
    assert _MANNERED.search("A stranger wrote it.")
