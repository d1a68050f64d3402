"""Agents of program search stay small, and know no problem by its name."""

import re
from pathlib import Path

import pytest

from comind.demos import problems

_AGENTS = Path(__file__).parents[2] / "comind" / "agents"
_WORDS = re.compile(
    "|".join(rf"\b{name.removeprefix('demo-').replace('-', '[ _-]?')}s?\b" for name in problems()),
    re.IGNORECASE,
)


@pytest.mark.parametrize(("agent", "most"), [("funsearch", 450), ("greedy", 200)])
def test_an_agent_of_program_search_is_small(agent: str, most: int) -> None:
    """Code and prompts of such an agent fit into this many lines."""
    files = [*(_AGENTS / agent).rglob("*.py"), *(_AGENTS / agent).rglob("*.j2")]
    assert 0 < sum(len(file.read_text().splitlines()) for file in files) <= most


def test_no_agent_names_a_problem() -> None:
    """Agents know no problem that ships: neither their code nor their prompts name one."""
    files = [*_AGENTS.rglob("*.py"), *_AGENTS.rglob("*.j2")]
    named = {str(file): _WORDS.findall(file.read_text()) for file in files}
    assert {name: found for name, found in named.items() if found} == {}
    assert _WORDS.search("Solve the bin packing problem as a tsp.")
