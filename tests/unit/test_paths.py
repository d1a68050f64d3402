"""Resolve the argument COMPETITION to a folder."""

from pathlib import Path

import pytest

from comind.app.paths import find_or_fetch_competition
from comind.errors import CompetitionError
from tests.unit.prepared import prepared_pictures


def test_prepared_data_are_adapted_once(tmp_path: Path) -> None:
    """Prepared data is adapted once, without the answers, and reused."""
    given, project = prepared_pictures(tmp_path / "mle"), tmp_path / "project"
    folder = find_or_fetch_competition(str(given), project)
    assert folder == project / "data" / "prepared" / given.name
    assert (folder / "public" / "test.csv").read_text() == "id\nc.jpg\n"
    assert not (folder / "private").exists()
    assert find_or_fetch_competition(str(given), project) == folder
    assert find_or_fetch_competition(str(folder), project) == folder


def test_what_is_nothing_stays_nothing(tmp_path: Path) -> None:
    """An unknown name raises a CompetitionError."""
    with pytest.raises(CompetitionError, match="there is no such folder"):
        find_or_fetch_competition("../nowhere", tmp_path)
