"""A folder and a store that imported it show the same community, whatever lines it has."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.community.access import Community, open_community
from comind.community.asof import as_of
from comind.community.store.folder_import import ingest_folder
from comind.domain.community import CommunityView
from tests.examples import examples
from tests.unit.community.folders import DAY, comment, community, dataset, discussion, notebook

pytestmark = pytest.mark.slow

_START = datetime(2023, 3, 1, tzinfo=UTC)
_ODD = ("0900-01-01T00:00:00Z", "1970-01-01T00:00:00+05:30", "9999-12-31T23:59:59.999999Z")
_times = st.integers(1, 28).map(DAY.format) | st.sampled_from(_ODD)
_maybe = st.none() | _times
_counts = st.integers(0, 400)
_voted = {
    "author_tier": st.sampled_from(["", "expert", "master"]),
    "updated_at": _maybe,
    "observed_at": _maybe,
    "vote_times": st.none() | st.lists(_times, max_size=3),
    "votes": _counts,
}
_notebooks = st.fixed_dictionaries(
    _voted
    | {
        "ref": st.sampled_from(["ada/one", "bob/two"]),
        "version": st.integers(1, 3),
        "created_at": _maybe,
        "public_score": st.none() | st.sampled_from([0.25, 0.5, 0.75]),
        "source": st.sampled_from(["x = 1", "x = 2"]),
    }
)
_comments = st.fixed_dictionaries(
    _voted
    | {
        "id": st.sampled_from(["x", "y"]),
        "parent": st.sampled_from([None, "x", "z"]),
        "posted_at": _maybe,
        "body": st.sampled_from(["yes", "no"]),
    }
)
_discussions = st.fixed_dictionaries(
    _voted
    | {
        "id": st.integers(1, 2),
        "posted_at": _maybe,
        "votes": st.integers(-3, 9),
        "body": st.sampled_from(["a", "b"]),
        "comments": st.lists(_comments, max_size=3),
    }
)
_datasets: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "version": st.integers(1, 2),
        "published_at": _maybe,
        "title": st.sampled_from(["D", "E"]),
    }
)
_communities = st.fixed_dictionaries(
    {
        "notebooks": st.lists(_notebooks.map(lambda line: notebook(**line)), min_size=1, max_size=5),
        "discussions": st.lists(
            _discussions.map(lambda line: discussion(line["id"], **{**line, "id": str(line["id"])})),
            max_size=4,
        ),
        "datasets": st.lists(_datasets.map(lambda line: dataset(**line)), max_size=3),
    }
)
_moments = st.lists(
    st.integers(-24, 30 * 24).map(lambda hour: _START + timedelta(hours=hour)), min_size=9, max_size=9
)


def _shown(source: Community, moment: datetime | None) -> str:
    """Return the view as JSON, with the programs, without duplicates that the import dropped."""
    items = source.items("titanic", moment)
    loaded = [each.model_copy(update={"source": source.source_of(each)}) for each in items.notebooks]
    view = as_of(items.model_copy(update={"notebooks": tuple(loaded)}), moment)
    notes = tuple(note for note in view.left_out if "is there twice" not in note)
    return view.model_copy(update={"left_out": notes}).model_dump_json(indent=1)


def _compare(place: Path, lines: dict[str, Any], moments: list[datetime]) -> None:
    """Compare folder and store at each moment and without one."""
    folder = community(place / "folder", **lines)
    ingest_folder(place / "store", folder, "titanic")
    one, other = open_community(folder), open_community(place / "store")
    for moment in (None, *moments):
        assert _shown(one, moment) == _shown(other, moment)


@examples(10)
@given(_communities, _moments)
def test_folder_and_store_agree_at_any_moment(
    tmp_path_factory: pytest.TempPathFactory, lines: dict[str, Any], moments: list[datetime]
) -> None:
    """A folder and its store give the same view to the byte, at a hundred moments of communities."""
    _compare(tmp_path_factory.mktemp("pair"), lines, moments)


@pytest.mark.torture
@examples(100)
@given(_communities, _moments)
def test_folder_and_store_agree_at_a_thousand_moments(
    tmp_path_factory: pytest.TempPathFactory, lines: dict[str, Any], moments: list[datetime]
) -> None:
    """A folder and its store give the same view to the byte, at ten moments of each of a hundred."""
    _compare(tmp_path_factory.mktemp("pair"), lines, moments)


def _view(lines: dict[str, Any], place: Path, moment: datetime | None) -> CommunityView:
    _compare(place, lines, [] if moment is None else [moment])
    return as_of(open_community(place / "folder").items("titanic", moment), moment)


def test_votes_belong_to_the_notebook_and_scores_to_the_version(tmp_path: Path) -> None:
    """Whichever line states votes, they are the notebook's; a score is that of the version."""
    lines = [
        notebook(version=1, votes=332, vote_times=None, public_score=0.5),
        notebook(version=2, day=2, votes=0, vote_times=None),
    ]
    [seen] = _view({"notebooks": lines}, tmp_path, None).notebooks
    assert (seen.version, seen.votes, seen.public_score) == (2, 332, None)


def test_a_line_counts_from_its_own_time(tmp_path: Path) -> None:
    """Votes, comments and totals of a line are not known before the line itself."""
    first = discussion(vote_times=[DAY.format(2)], comments=[comment("c", 2, body="old")])
    second = discussion(
        updated_at=DAY.format(9),
        body="edited",
        vote_times=[DAY.format(day) for day in (2, 3)],
        comments=[comment("c", 2, body="new"), comment("d", 3)],
    )
    observed = [
        (thread.body, thread.votes, [each.body for each in thread.comments])
        for day in (5, 9)
        for thread in _view(
            {"discussions": [first, second]}, tmp_path / str(day), datetime(2023, 3, day, 13, tzinfo=UTC)
        ).discussions
    ]
    assert observed == [("Scale first.", 1, ["old"]), ("edited", 2, ["new", "Yes."])]
