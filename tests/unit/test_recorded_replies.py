"""Recorded replies of a strong model to competitions: whole, and played in an order that can work."""

import ast
from pathlib import Path

import pytest

from benchmarks.recorded import REPLIES, read_solutions, rules_of
from comind.testing.rules import Rule

_FOLDERS = [pytest.param(each, id=each.name) for each in sorted(REPLIES.iterdir())]


@pytest.mark.parametrize("folder", _FOLDERS)
def test_every_competition_has_a_base_two_others_and_what_builds_on_the_base(folder: Path) -> None:
    """Of four solutions the first is what the last builds on, and their titles are told apart."""
    base, *_, last = found = read_solutions(folder)
    assert len(found) == 4
    assert last.base == base.name
    titles = [each.title for each in found]
    assert not any(one in other for one in titles for other in titles if one is not other)


@pytest.mark.parametrize("folder", _FOLDERS)
def test_replies_become_rules_and_cells_that_are_python(folder: Path, tmp_path: Path) -> None:
    """Each turn of each solution is a file of Python, and an attempt that goes on is told to end."""
    rules = [Rule.model_validate(each) for each in rules_of(folder, tmp_path)]
    cells = [rule for rule in rules if rule.reply == "CodingStep"]
    for rule in cells:
        assert rule.file is not None
        ast.parse((tmp_path.parent / rule.file).read_text())
    for solution in read_solutions(folder):
        turns = [rule.turn for rule in cells if rule.about == solution.title]
        assert turns == [*range(1, len(solution.cells) + 1), None]


@pytest.mark.parametrize("folder", _FOLDERS)
def test_what_builds_on_another_is_drafted_once_that_is_scored(folder: Path, tmp_path: Path) -> None:
    """The rule that names a start answers only where that start is listed; the monitor has one, too."""
    rules = [Rule.model_validate(each) for each in rules_of(folder, tmp_path)]
    assert any(rule.reply == "MonitorVerdict" for rule in rules)
    drafts = [rule for rule in rules if rule.reply == "Drafts"]
    starts = [rule.about for rule in drafts if "start_from" in str(rule.say)]
    assert starts == ["- attempt-001: "]
    assert drafts[-1].about == ""
