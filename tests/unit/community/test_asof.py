"""Nothing later than the as-of time has any influence on a view."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from comind.community.asof import as_of
from comind.community.items import (
    CommentItem,
    CommunityItems,
    DatasetItem,
    DiscussionItem,
    NotebookItem,
    Observation,
    Remark,
)
from comind.community.ranking import Selection, rank

_NOW = datetime(2023, 4, 1, tzinfo=UTC)
_HOUR = timedelta(hours=1)

_before = st.integers(0, 400).map(lambda hours: _NOW - hours * _HOUR)
_after = st.integers(1, 400).map(lambda hours: _NOW + hours * _HOUR)
_names = st.sampled_from(["a/a", "b/b", "c/c"])
_texts = st.sampled_from(["", "scale first", "trees do not care about scale", "x = 1\ny = 2"])


def _observation(times: st.SearchStrategy[datetime]) -> st.SearchStrategy[Observation]:
    return st.builds(
        Observation,
        at=times,
        votes=st.none() | st.integers(0, 9),
        author_tier=st.sampled_from(["", "expert", "master"]),
        public_score=st.none() | st.floats(0, 1),
    )


def _observed(times: st.SearchStrategy[datetime]) -> st.SearchStrategy[tuple[Observation, ...]]:
    return st.lists(_observation(times), max_size=2).map(tuple)


def _notebook(times: st.SearchStrategy[datetime]) -> st.SearchStrategy[NotebookItem]:
    return st.builds(
        NotebookItem,
        ref=_names,
        version=st.integers(0, 3),
        title=_texts,
        author=_texts,
        created_at=times,
        updated_at=st.none() | times,
        votes=st.integers(0, 9),
        vote_times=st.none() | st.lists(_before, max_size=3).map(tuple),
        observed=_observed(_before),
        public_score=st.none() | st.floats(0, 1),
        source=_texts,
    )


def _comment(times: st.SearchStrategy[datetime]) -> st.SearchStrategy[CommentItem]:
    return st.builds(
        CommentItem,
        id=_names,
        parent=st.none() | _names,
        author=_texts,
        created_at=times,
        votes=st.integers(-3, 3),
        vote_times=st.none() | st.lists(_before, max_size=3).map(tuple),
        observed=_observed(_before),
        body=_texts,
    )


def _discussion(times: st.SearchStrategy[datetime]) -> st.SearchStrategy[DiscussionItem]:
    return st.builds(
        DiscussionItem,
        id=_names,
        title=_texts,
        author=_texts,
        created_at=times,
        votes=st.integers(-3, 3),
        vote_times=st.none() | st.lists(_before, max_size=3).map(tuple),
        observed=_observed(_before),
        body=_texts,
        comments=st.lists(_comment(_before), max_size=3).map(tuple),
    )


def _dataset(times: st.SearchStrategy[datetime]) -> st.SearchStrategy[DatasetItem]:
    return st.builds(DatasetItem, ref=_names, version=st.integers(0, 3), title=_texts, created_at=times)


def _remark(times: st.SearchStrategy[datetime | None]) -> st.SearchStrategy[Remark]:
    return st.builds(
        Remark, file=st.just("f"), reason=_texts, name=_texts, line=st.integers(1, 9), at=times
    )


_communities = st.builds(
    CommunityItems,
    notebooks=st.lists(_notebook(st.none() | _before), max_size=4).map(tuple),
    discussions=st.lists(_discussion(st.none() | _before), max_size=3).map(tuple),
    datasets=st.lists(_dataset(st.none() | _before), max_size=3).map(tuple),
    remarks=st.lists(_remark(st.none() | _before), max_size=2).map(tuple),
)


def _voted_later(
    item: NotebookItem | DiscussionItem | CommentItem,
    times: list[datetime],
    total: int,
    seen: tuple[Observation, ...],
) -> dict[str, object]:
    """Apply later votes and observations: the total always changes, times where they are known."""
    known = None if item.vote_times is None else (*item.vote_times, *times)
    observed = (*seen, *item.observed)
    return {"vote_times": known, "votes": total, "observed": observed, **_promoted(item)}


def _promoted(item: NotebookItem | DiscussionItem | CommentItem) -> dict[str, object]:
    return {} if isinstance(item, CommentItem) else {"author_tier": "grandmaster"}


@st.composite
def _futures(draw: st.DrawFn, items: CommunityItems) -> CommunityItems:
    """Return the same community after later events."""
    times = st.lists(_after, max_size=3)
    total = st.integers(0, 99)
    seen = _observed(_after)

    def later(item: NotebookItem | DiscussionItem | CommentItem) -> dict[str, object]:
        return _voted_later(item, draw(times), draw(total), draw(seen))

    notebooks: list[NotebookItem] = [each.model_copy(update=later(each)) for each in items.notebooks]
    discussions: list[DiscussionItem] = []
    for each in items.discussions:
        comments = [c.model_copy(update=later(c)) for c in each.comments]
        for late in draw(st.lists(_comment(_after), max_size=2)):
            comments.insert(draw(st.integers(0, len(comments))), late)
        update = later(each) | {"comments": tuple(comments)}
        discussions.append(each.model_copy(update=update))
    datasets = list(items.datasets)
    remarks = list(items.remarks)
    for kept, new in (
        (notebooks, _notebook(_after)),
        (discussions, _discussion(_after)),
        (datasets, _dataset(_after)),
        (remarks, _remark(_after)),
    ):
        for late in draw(st.lists(new, max_size=2)):
            kept.insert(draw(st.integers(0, len(kept))), late)  # type: ignore[attr-defined]
    return CommunityItems(
        notebooks=tuple(notebooks),
        discussions=tuple(discussions),
        datasets=tuple(datasets),
        remarks=tuple(remarks),
    )


@given(st.data(), _communities)
def test_the_future_has_no_influence(data: st.DataObject, items: CommunityItems) -> None:
    """Items, versions, comments, votes and remarks of later times change nothing in the view."""
    later = data.draw(_futures(items))
    before, after = as_of(items, _NOW), as_of(later, _NOW)
    assert after == before
    limits = Selection(notebooks=2, discussions=2)
    assert rank(after, limits, maximize=True) == rank(before, limits, maximize=True)


@given(_communities, _before)
def test_everything_in_a_view_is_from_before(items: CommunityItems, moment: datetime) -> None:
    """Everything in a view has a time, none later than the view's."""
    view = as_of(items, moment)
    times = [each.created_at for each in view.notebooks]
    times += [each.posted_at for each in view.discussions]
    times += [comment.posted_at for each in view.discussions for comment in each.comments]
    times += [each.published_at for each in view.datasets]
    assert all(time is not None and time <= moment for time in times)
    assert len({each.ref for each in view.notebooks}) == len(view.notebooks)


def _plain(ref: str = "a/a", *, hour: int | None = 0, **more: object) -> NotebookItem:
    values: dict[str, object] = {"ref": ref, "version": 1, "title": "t", "author": "a", "source": "x"}
    values |= {"vote_times": ()}
    if hour is not None:
        values["created_at"] = _NOW + hour * _HOUR
    return NotebookItem.model_validate(values | more)


def test_an_item_without_a_time() -> None:
    """An item without a time is left out of an as-of view, with a note; otherwise it is included."""
    items = CommunityItems(notebooks=(_plain(hour=None),))
    assert as_of(items, None).notebooks[0].ref == "a/a"
    view = as_of(items, _NOW)
    assert view.notebooks == ()
    assert view.left_out == ("notebook a/a: has no time, so it is not used under an as-of time",)


def test_the_latest_version_by_then() -> None:
    """Of several versions the current one is selected, wherever it is in the file."""
    versions = [_plain(hour=h, version=v) for h, v in ((-1, 2), (-3, 1), (2, 3))]
    assert [n.version for n in as_of(CommunityItems(notebooks=tuple(versions)), _NOW).notebooks] == [2]
    edited = _plain(hour=-5, updated_at=_NOW + _HOUR)
    assert as_of(CommunityItems(notebooks=(edited,)), _NOW) == as_of(CommunityItems(), _NOW)


def test_the_moment_itself_counts() -> None:
    """The as-of time is inclusive."""
    item = _plain(hour=0, vote_times=(_NOW, _NOW + _HOUR))
    assert as_of(CommunityItems(notebooks=(item,)), _NOW).notebooks[0].votes == 1


def test_totals_of_votes_are_not_trusted() -> None:
    """A total without times counts 0 in an as-of view, with one note; otherwise it counts."""
    items = CommunityItems(
        notebooks=tuple(_plain(ref, votes=7, vote_times=None) for ref in ("a/a", "b/b"))
    )
    view = as_of(items, _NOW)
    assert [each.votes for each in view.notebooks] == [0, 0]
    assert view.left_out == ("votes that are only known as totals, without times, count as none",)
    assert [each.votes for each in as_of(items, None).notebooks] == [7, 7]
    assert as_of(items, None).left_out == ()


def test_what_was_observed_counts_from_then_on() -> None:
    """Totals, tiers and scores are those of the latest observation by then."""
    seen = [
        Observation(at=_NOW - 5 * _HOUR, votes=9, author_tier="expert"),
        Observation(at=_NOW - 9 * _HOUR, votes=4, author_tier="novice", public_score=0.7),
        Observation(at=_NOW + _HOUR, votes=50, author_tier="master", public_score=0.9),
    ]
    item = _plain(hour=-20, vote_times=None, observed=tuple(seen))
    observed = {
        hours: (view.votes, view.author_tier, view.public_score)
        for hours in (-15, -8, 0, 1)
        for view in as_of(CommunityItems(notebooks=(item,)), _NOW + hours * _HOUR).notebooks
    }
    assert observed == {
        -15: (0, "", None),
        -8: (4, "novice", 0.7),
        0: (9, "expert", 0.7),
        1: (50, "master", 0.9),
    }
    [whole] = as_of(CommunityItems(notebooks=(item,)), None).notebooks
    assert (whole.votes, whole.author_tier, whole.public_score) == (50, "master", 0.9)


def test_the_same_version_twice() -> None:
    """The first of two lines of the same version is used, with a note on the second."""
    items = CommunityItems(notebooks=(_plain(title="first"), _plain(title="second")))
    view = as_of(items, None)
    assert [each.title for each in view.notebooks] == ["first"]
    assert view.left_out == ("notebook a/a: is there twice in the same version; the first is used",)


def test_answers_to_a_dropped_comment_are_kept_flat() -> None:
    """A comment whose parent is missing becomes a root."""
    old, new = _NOW - _HOUR, _NOW + _HOUR

    def answer(name: str, parent: str | None, *, edited: datetime | None = None) -> CommentItem:
        return CommentItem(
            id=name,
            parent=parent,
            author="a",
            created_at=old,
            updated_at=edited,
            body="b",
            vote_times=(),
        )

    comments = (answer("1", None, edited=new), answer("2", "1"), answer("3", "2"), answer("4", "4"))
    thread = DiscussionItem(
        id="t", title="t", author="a", created_at=old, body="b", comments=comments, vote_times=()
    )
    [seen] = as_of(CommunityItems(discussions=(thread,)), _NOW).discussions
    assert [(each.id, each.parent) for each in seen.comments] == [("2", None), ("3", "2"), ("4", None)]


def test_what_is_said_is_bounded() -> None:
    """The number of notes is bounded."""
    remarks = tuple(Remark(file="f", reason=f"reason {number}") for number in range(5000))
    left_out = as_of(CommunityItems(remarks=remarks), None).left_out
    assert len(left_out) == 101
    assert left_out[-1] == "and 4900 more"
