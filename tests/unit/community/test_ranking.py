"""Ranking prefers scored, voted and recent items, and penalizes similar ones."""

import itertools
from datetime import UTC, datetime, timedelta
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from comind.community.ranking import Selection, rank
from comind.domain.community import Comment, CommunityView, Dataset, Discussion, Notebook

_START = datetime(2023, 1, 1, tzinfo=UTC)


def _notebook(
    ref: str, score: float | None = None, votes: int = 0, day: int = 0, **more: object
) -> Notebook:
    words = " ".join(f"{ref}_{number}" for number in range(20))
    values: dict[str, object] = {
        "ref": ref,
        "version": 1,
        "title": ref,
        "author": "a",
        "created_at": _START + timedelta(days=day),
        "votes": votes,
        "public_score": score,
        "source": words,
    }
    return Notebook.model_validate(values | more)


def _ranked(*notebooks: Notebook, maximize: bool = True, limit: int = 10) -> list[str]:
    view = CommunityView(notebooks=notebooks)
    ranked = rank(view, Selection(notebooks=limit, discussions=10), maximize=maximize)
    return [each.ref for each in ranked.notebooks]


def test_the_direction_of_the_score_counts() -> None:
    """The better public score ranks first in either direction of the metric."""
    two = (_notebook("a/low", 0.1), _notebook("b/high", 0.9))
    assert _ranked(*two) == ["b/high", "a/low"]
    assert _ranked(*two, maximize=False) == ["a/low", "b/high"]


def test_votes_alone_do_not_win() -> None:
    """A popular notebook without a score ranks below the best scored one."""
    assert _ranked(_notebook("a/loved", None, 900), _notebook("b/good", 0.9, 0))[0] == "b/good"


def test_a_copy_comes_after_something_new() -> None:
    """Of two equal notebooks one is chosen, then a different one, although it is worse."""
    best = _notebook("a/best", 0.9, day=3)
    copy = _notebook("b/copy", 0.9, day=3, title=best.title, source=best.source)
    other = _notebook("c/other", 0.8, day=1)
    assert _ranked(best, copy, other, limit=2) == ["a/best", "c/other"]


def test_an_absurd_score_moves_only_itself() -> None:
    """An absurd score takes one rank and leaves the order of the others."""
    honest = [_notebook(f"n/{number}", number / 10, day=number) for number in range(6)]
    liar = _notebook("z/liar", 1e300)
    ranked = _ranked(*honest, liar)
    assert [ref for ref in ranked if ref != "z/liar"] == _ranked(*honest)


_notebooks = st.lists(
    st.builds(
        _notebook,
        st.from_regex(r"[a-c]{1,2}/[a-c]{1,2}", fullmatch=True),
        st.none() | st.floats(-5, 5),
        st.integers(0, 50),
        st.integers(0, 9),
    ),
    max_size=8,
    unique_by=lambda each: each.ref,
)


@given(_notebooks, st.randoms(use_true_random=False), st.integers(0, 9))
def test_the_order_of_the_files_does_not_count(
    notebooks: list[Notebook], random: Random, limit: int
) -> None:
    """The ranking does not depend on input order, has no duplicates, and respects the limit."""
    shuffled = notebooks.copy()
    random.shuffle(shuffled)
    ranked = _ranked(*notebooks, limit=limit)
    assert ranked == _ranked(*shuffled, limit=limit)
    assert len(ranked) == len(set(ranked)) == min(limit, len(notebooks))


def test_a_discussed_thread_comes_first() -> None:
    """Votes and comments both raise a discussion; a missing time or body is allowed."""
    comments = tuple(Comment(id=str(n), author="a", body="b") for n in range(5))
    threads = (
        Discussion(id="1", title="quiet", author="a", body=""),
        Discussion(id="2", title="voted", author="a", body="x y z", votes=-5),
        Discussion(id="3", title="answered", author="a", body="p q r", votes=3, comments=comments),
    )
    for order in itertools.permutations(threads):
        view = CommunityView(discussions=order)
        ranked = rank(view, Selection(notebooks=10, discussions=2), maximize=True)
        assert [each.id for each in ranked.discussions] == ["3", "1"]


def test_datasets_in_use_come_first() -> None:
    """A dataset used by a chosen notebook ranks above a newer unused one."""
    datasets = tuple(
        Dataset(ref=ref, version=1, title=ref, published_at=_START + timedelta(days=day))
        for day, ref in enumerate(["a/used", "b/old", "c/new"])
    )
    view = CommunityView(notebooks=(_notebook("n/n", datasets=("a/used",)),), datasets=datasets)
    ranked = rank(view, Selection(notebooks=10, discussions=10), maximize=True)
    assert [each.ref for each in ranked.datasets] == ["a/used", "c/new", "b/old"]


_PROGRAM = "\n".join(f"step_{number} = model_{number}.fit(data_{number})" for number in range(30))


def test_a_fork_with_a_line_changed_is_left_out() -> None:
    """Of nearly equal programs the best is kept and the others are named; comments do not count."""
    best = _notebook("b/best", 0.9, source=_PROGRAM)
    fork = _notebook("a/fork", 0.8, source=f"# my own\n{_PROGRAM}\nprint('mine')")
    other = _notebook("c/other", 0.1)
    view = rank(
        CommunityView(notebooks=(best, fork, other)),
        Selection(notebooks=10, discussions=10),
        maximize=True,
    )
    assert [each.ref for each in view.notebooks] == ["b/best", "c/other"]
    assert view.left_out == (
        "notebook a/fork: is nearly the same as b/best, which is read in its place",
    )


def test_many_copies_are_counted() -> None:
    """The number of named copies is bounded."""
    copies = [_notebook(f"a/n{number:03d}", 0.5, source=_PROGRAM) for number in range(100)]
    view = rank(
        CommunityView(notebooks=tuple(copies)), Selection(notebooks=10, discussions=10), maximize=True
    )
    assert len(view.notebooks) == 1
    assert len(view.left_out) == 21
    assert view.left_out[-1] == "and 79 more copies of notebooks that are read"


def test_programs_are_read_only_of_what_may_be_chosen() -> None:
    """Source code is loaded best first until there is enough; a notebook without code is skipped."""
    notebooks = [_notebook(f"a/n{number:03d}", number / 100, source="") for number in range(99)]
    asked: list[str] = []

    def source_of(notebook: Notebook) -> str | None:
        asked.append(notebook.ref)
        return None if notebook.ref == "a/n098" else f"print({notebook.ref!r})"

    view = rank(
        CommunityView(notebooks=tuple(notebooks)),
        Selection(notebooks=2, discussions=1),
        maximize=True,
        source_of=source_of,
    )
    assert [(each.ref, each.source) for each in view.notebooks] == [
        ("a/n097", "print('a/n097')"),
        ("a/n096", "print('a/n096')"),
    ]
    assert len(asked) == 41
    assert view.left_out == ("notebooks that cannot be read, as their code is not there: 1 (a/n098)",)


def test_by_votes_the_most_voted_are_read_whatever_their_scores() -> None:
    """Notebooks and discussions come by votes alone, a fork beside its original; ties go by name."""
    body = " ".join(f"word{number}" for number in range(99))
    dataset = Dataset(ref="a/rows", version=1, title="More rows")
    notebooks = (
        _notebook("a/best", 0.99, votes=1, source="x = 1"),
        _notebook("b/fork", 0.2, votes=50, source=body),
        _notebook("c/original", None, votes=50, source=body),
        _notebook("d/loved", 0.1, votes=900, source="y = 2"),
    )
    view = CommunityView(notebooks=notebooks, datasets=(dataset,))
    read = rank(view, Selection(notebooks=3, discussions=0, by_votes=True), maximize=True)
    assert [each.ref for each in read.notebooks] == ["d/loved", "b/fork", "c/original"]
    assert read.datasets == (dataset,)
    without = Selection(notebooks=3, discussions=0, datasets=False)
    assert rank(view, without, maximize=True).datasets == ()
