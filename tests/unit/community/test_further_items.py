"""A snapshot keeps items of lower rank, which only agents see that sample in each round."""

from datetime import UTC, datetime
from pathlib import Path

from comind.app.community_listing import list_community, listing_text
from comind.campaign.reports.item_outcomes import item_outcomes
from comind.community.provenance import graph_of
from comind.community.ranking import Selection, rank
from comind.community.snapshot import take_snapshot
from comind.domain.community import CommunityView, Discussion, Notebook
from tests.unit.agents.community import discussion as thread
from tests.unit.agents.community import notebook as item
from tests.unit.agents.rounds import baseline, state_of
from tests.unit.community.folders import community, dataset, discussion, notebook

_TEN = Selection(notebooks=10, discussions=10)
_AGENTS = Path(__file__).parents[3] / "comind" / "agents"


def _notebook(number: int, **more: object) -> Notebook:
    words = " ".join(f"w{number}_{place}" for place in range(9))
    return item(f"a/n{number:02d}", words, title=words, votes=number, **more)


def _thread(number: int) -> Discussion:
    return thread(f"{number:02d}", f"About {number}.", title=f"t{number}", votes=number)


def _names(view: CommunityView) -> tuple[list[str], list[str]]:
    return [each.ref for each in view.notebooks], [each.ref for each in view.further_notebooks]


def test_the_next_items_are_further_ones() -> None:
    """Beside the ten best of sixty notebooks and discussions, the others follow by rank."""
    view = CommunityView(
        notebooks=tuple(map(_notebook, range(60))), discussions=tuple(map(_thread, range(60)))
    )
    ranked = rank(view, _TEN, maximize=True)
    assert _names(ranked) == (
        [f"a/n{n}" for n in range(59, 49, -1)],
        [f"a/n{n:02d}" for n in range(49, -1, -1)],
    )
    assert [len(each) for each in (ranked.discussions, ranked.further_discussions)] == [10, 50]
    assert len({each.id for each in ranked.all_discussions}) == 60


def test_there_are_at_most_a_hundred() -> None:
    """Of more than that, the best hundred of a kind are kept; of a kind that is not read, none."""
    view = CommunityView(
        notebooks=tuple(map(_notebook, range(150))), discussions=tuple(map(_thread, range(20)))
    )
    ranked = rank(view, Selection(notebooks=10, discussions=0), maximize=True)
    assert len(ranked.further_notebooks) == 100
    assert ranked.all_discussions == ()


def test_their_text_is_bounded() -> None:
    """Further items end before their text has more than four million characters."""
    long = tuple(_notebook(n).model_copy(update={"source": f"x{n} " + "y" * 200_000}) for n in range(40))
    ranked = rank(CommunityView(notebooks=long), _TEN, maximize=True)
    assert len(ranked.notebooks) == 10
    assert len(ranked.further_notebooks) == 19


def test_a_view_is_merged_with_an_older_one() -> None:
    """An item is a further one only where neither view has it among the first, and is there once."""
    one, two, three, four = map(_notebook, range(4))
    newer = CommunityView(notebooks=(one,), further_notebooks=(two, three))
    older = CommunityView(notebooks=(two,), further_notebooks=(one, three, four))
    merged = newer.merged_with(older)
    assert _names(merged) == (["a/n00", "a/n01"], ["a/n02", "a/n03"])
    threads = CommunityView(discussions=(_thread(1),)).merged_with(
        CommunityView(further_discussions=(_thread(1), _thread(2)))
    )
    assert [each.id for each in threads.further_discussions] == ["02"]


def _view(place: Path, count: int) -> tuple[CommunityView, Path, str]:
    folder = community(
        place / "community",
        notebooks=[
            *(notebook(f"ada/n{n:02d}", source=f"x{n} = {n}\n", public_score=n) for n in range(count)),
            notebook("demo/taken", source="y = 0\n", public_score=-1),
            notebook("ada/data", source="z = 0\n", public_score=-2),
        ],
        discussions=[discussion()],
        datasets=[dataset("ada/data", path="a.csv")],
    )
    (folder / "a.csv").write_text("a\n")
    taken = take_snapshot(
        folder,
        place / "snapshots",
        competition="demo",
        as_of=datetime(2023, 3, 10, tzinfo=UTC),
        maximize=True,
        selection=_TEN,
    )
    mounted = taken.mount_path("ada/n00")
    assert mounted is not None
    assert taken.mount_path("ada/data") is not None
    return taken.read(), mounted, taken.view_file.read_text()


def test_a_further_notebook_can_be_mounted(tmp_path: Path) -> None:
    """Its program is in the snapshot; one with a reserved owner or a dataset's name is left out."""
    view, mounted, _ = _view(tmp_path, 14)
    assert _names(view)[1] == ["ada/n03", "ada/n02", "ada/n01", "ada/n00"]
    assert (mounted / "notebook.py").read_text() == "x0 = 0\n"
    assert [each.files for each in view.datasets] == [True]
    assert view.left_out == (
        "demo/taken: its owner's name is taken below input/",
        "notebook ada/data: a dataset has the same name",
    )


def test_a_small_community_has_no_mention_of_them(tmp_path: Path) -> None:
    """A view without further items is stored as before, so that snapshots keep their keys."""
    _, _, stored = _view(tmp_path, 3)
    assert "further" not in stored


def test_a_listing_counts_them(tmp_path: Path) -> None:
    """`--list` shows what all agents read, and the number of what only rounds of comind draw from."""
    names = [f"ada/n{n:02d}" for n in range(13)]
    folder = community(tmp_path / "c", notebooks=[notebook(name, source=name) for name in names])
    listed = list_community(tmp_path, folder, "demo", None, "none")
    assert len(listed["notebooks"]) == 10
    assert "further         3 items of lower rank" in listing_text(listed)
    assert "further" not in listing_text(listed | {"further": 0})


def test_the_graph_has_them_and_outcomes_only_used_ones() -> None:
    """A fork of a further notebook is below it; one that nobody read or used is no outcome."""
    fork = _notebook(1, forked_from="a/n02", created_at=datetime(2024, 6, 1, tzinfo=UTC))
    view = CommunityView(
        notebooks=(fork,),
        further_notebooks=(_notebook(2), _notebook(3)),
        further_discussions=(_thread(1),),
    )
    graph = graph_of(view)
    assert graph.is_ancestor("notebook:a/n02", "notebook:a/n01")
    found = item_outcomes(state_of(*baseline()), graph, {"a/n03": "Read."})
    assert [each.name for each in found] == ["a/n03", "a/n01"], "a/n02 is neither"


def test_no_other_agent_reads_them() -> None:
    """Their names are in the code of CoMind alone, so that others read the ten as before."""
    names = ("all_notebooks", "all_discussions", "further_notebooks", "further_discussions")
    using = {
        path.relative_to(_AGENTS).parts[0]
        for path in _AGENTS.rglob("*.py")
        if any(name in path.read_text() for name in names)
    }
    assert using == {"comind"}
