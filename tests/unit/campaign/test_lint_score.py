"""The style of a program is rated by pylint, without running it."""

from pathlib import Path

import pytest

from comind.campaign.reports.lint_score import LintScores, lint_score

_CLEAN = '"""Say hello."""\n\nprint("hello")\n'


def test_a_clean_program_has_ten_and_a_careless_one_less() -> None:
    """The score falls with messages for each statement: 10 - 10 * (5 errors + others) / statements."""
    assert lint_score(_CLEAN) == 10.0
    assert lint_score("print('hello')\nprint('again')\n") == pytest.approx(5.0)  # no docstring: 1 of 2
    assert lint_score(_CLEAN + 18 * "print(1)\n" + "print(unknown)\n") == pytest.approx(7.5)  # of 20


def test_a_program_is_rated_once(tmp_path: Path) -> None:
    """Another report of the same bench reads the score, also that there is none."""
    kept = tmp_path / "bench" / "pylint.json"
    scores = LintScores(kept)
    assert (scores.of(_CLEAN), scores.of("def f(:\n")) == (10.0, None)
    kept.write_text(kept.read_text().replace("10.0", "9.5"))
    assert (LintScores(kept).of(_CLEAN), LintScores(kept).of("def f(:\n")) == (9.5, None)


def test_what_does_not_parse_has_no_score() -> None:
    """It would be 0, as of a program that runs and is badly written."""
    assert lint_score("def f(:\n") is None


def test_a_package_that_is_only_in_the_agents_environment_is_no_error() -> None:
    """Programs import what their own environment has."""
    assert lint_score('"""Fit."""\n\nimport package_of_agents\n\nprint(package_of_agents)\n') == 10.0


def test_the_program_is_not_run(tmp_path: Path) -> None:
    """Neither its own code nor settings that it names are used."""
    mark = tmp_path / "ran"
    harmful = f"# pylint: load-plugins=harm\nopen({str(mark)!r}, 'w').write('x')\n"
    lint_score(harmful)
    assert not mark.exists()
