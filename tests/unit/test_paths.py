"""What a user means by COMPETITION."""

from pathlib import Path

import pytest

from comind.errors import CompetitionError
from flows.cli.paths import find_or_fetch_competition


def prepared_pictures(root: Path) -> Path:
    """Write a competition of pictures as MLE-bench prepares it; returns DATA/ID."""
    public = root / "aerial-cactus-identification" / "prepared" / "public"
    public.mkdir(parents=True)
    (public / "train.csv").write_text("id,has_cactus\na.jpg,1\nb.jpg,0\n")
    (public / "sample_submission.csv").write_text("id,has_cactus\nc.jpg,0.5\n")
    (public.parent / "private").mkdir()
    (public.parent / "private" / "test.csv").write_text("id,has_cactus\nc.jpg,1\n")
    return public.parent.parent


def test_prepared_data_are_adapted_once(tmp_path: Path) -> None:
    """A campaign gets a folder of ours, without the answers; the next one gets the same."""
    given, project = prepared_pictures(tmp_path / "mle"), tmp_path / "project"
    folder = find_or_fetch_competition(str(given), project)
    assert folder == project / "data" / "prepared" / given.name
    assert (folder / "public" / "test.csv").read_text() == "id\nc.jpg\n"
    assert not (folder / "private").exists()
    assert find_or_fetch_competition(str(given), project) == folder
    assert find_or_fetch_competition(str(folder), project) == folder


def test_what_is_nothing_stays_nothing(tmp_path: Path) -> None:
    """A name that leads nowhere is said as before."""
    with pytest.raises(CompetitionError, match="there is no such folder"):
        find_or_fetch_competition("../nowhere", tmp_path)
