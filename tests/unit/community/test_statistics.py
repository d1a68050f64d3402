"""Statistics of a community agree with a count by hand, for a folder and a store, as of a moment."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from comind.community.statistics import community_statistics
from comind.community.store.folder_import import ingest_folder
from comind.domain.community import CommunityStatistics
from tests.unit.community.folders import DAY, comment, community, dataset, discussion, notebook

_VOTES = {"ada/none": 0, "bob/few": 9, "cy/ten": 10, "dora/many": 100}


@pytest.mark.parametrize("kind", ["folder", "store"])
def test_a_community_is_counted_as_of_a_moment(kind: str, tmp_path: Path) -> None:
    """Items, lines of code and comments of later times do not count; votes have four groups."""
    notebooks = [
        notebook(
            ref, 2, source="x = 1\n" * (number + 1), vote_times=[DAY.format(3)] * votes, votes=votes
        )
        for number, (ref, votes) in enumerate(_VOTES.items())
    ]
    later = notebook("eve/later", 20, source="y = 2\n" * 99, votes=0)
    folder = community(
        tmp_path / "community",
        notebooks=[*notebooks, later],
        discussions=[discussion(2, comments=[comment("a", 3), comment("b", 20)])],
        datasets=[dataset()],
    )
    if kind == "store":
        ingest_folder(tmp_path / "store", folder, "titanic")
        folder = tmp_path / "store"
    found = community_statistics(folder, "titanic", datetime(2023, 3, 9, tzinfo=UTC))
    assert (found.notebooks, found.discussions) == (4, 1)
    assert (found.lines, found.comments) == (2.5, 1.0)
    assert found.votes == (1, 1, 1, 1)


def test_an_empty_community_has_no_means(tmp_path: Path) -> None:
    """Before its first item there is nothing to average."""
    folder = community(tmp_path, notebooks=[notebook()])
    found = community_statistics(folder, "titanic", datetime(2020, 1, 1, tzinfo=UTC))
    assert found == CommunityStatistics(
        notebooks=0, discussions=0, datasets=0, lines=None, comments=None, votes=(0, 0, 0, 0)
    )
