"""Incremental fetches of a community."""

import json
from pathlib import Path
from typing import Any

from comind.errors import KaggleBusyError
from comind.kaggle.community_fetch import CommunityNews, FetchLimits, fetch_community
from comind.kaggle.port import CommentFacts, NotebookFacts
from tests.doubles.clock import QuickClock
from tests.doubles.kaggle import ScriptedKaggle
from tests.unit.kaggle.world import SLUG, day, tiny_world

DAY = 86_400.0


def visit(
    kaggle: ScriptedKaggle,
    folder: Path,
    clock: QuickClock,
    *,
    notebooks: int = 40,
    lower: bool | None = True,
) -> CommunityNews:
    kaggle.calls.clear()
    return fetch_community(
        kaggle, SLUG, folder, limits=FetchLimits(notebooks=notebooks), clock=clock, lower=lower
    )


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_votes_are_totals_of_when_they_were_seen(tmp_path: Path) -> None:
    """A notebook without a new run is not fetched again, but its votes are updated."""
    kaggle, clock = ScriptedKaggle(tiny_world()), QuickClock()
    visit(kaggle, tmp_path, clock)
    best, liked = kaggle.world.notebooks
    kaggle.world.notebooks = (best.model_copy(update={"votes": 9}), liked)
    clock.sleep(DAY)
    assert visit(kaggle, tmp_path, clock).notebooks == 0
    assert ("notebook", "ann/best") not in kaggle.calls
    told = {
        line["ref"]: (line["votes"], line["observed_at"]) for line in lines(tmp_path / "notebooks.jsonl")
    }
    assert told["ann/best"] == (9, "2024-01-02T00:00:00.000Z")


def test_a_new_version_is_a_line_of_its_own(tmp_path: Path) -> None:
    """A new version is a new line; the old one stays."""
    kaggle, clock = ScriptedKaggle(tiny_world()), QuickClock()
    visit(kaggle, tmp_path, clock)
    best, liked = kaggle.world.notebooks
    again = best.model_copy(update={"version": 4, "last_run": day(9), "source": "print(4)\n"})
    kaggle.world.notebooks = (again, liked)
    clock.sleep(DAY)
    assert visit(kaggle, tmp_path, clock).notebooks == 1
    found = [line for line in lines(tmp_path / "notebooks.jsonl") if line["ref"] == "ann/best"]
    assert [(line["version"], line["source"]) for line in found] == [
        (3, "print(1)\n"),
        (4, "print(4)\n"),
    ]
    assert [line["observed_at"] for line in found] == [
        "2024-01-01T00:00:00.000Z",
        "2024-01-02T00:00:00.000Z",
    ]


def test_versions_without_numbers(tmp_path: Path) -> None:
    """Without version numbers each new run is the next version."""
    kaggle, clock = ScriptedKaggle(tiny_world()), QuickClock()
    for run in (3, 3, 5):
        best = kaggle.world.notebooks[0].model_copy(update={"version": None, "last_run": day(run)})
        kaggle.world.notebooks = (best,)
        visit(kaggle, tmp_path, clock)
    assert [line["version"] for line in lines(tmp_path / "notebooks.jsonl")] == [1, 2]


def test_scores_and_votes_take_turns(tmp_path: Path) -> None:
    """The best notebooks by score and by votes are fetched first."""
    kaggle = ScriptedKaggle(tiny_world(), chunk=50)
    kaggle.world.notebooks = tuple(
        NotebookFacts(ref=f"u/n{n}", title="", author="u", version=1, votes=n, source="")
        for n in range(20)
    )
    assert visit(kaggle, tmp_path, QuickClock(), notebooks=4).notebooks == 4
    assert {line["ref"] for line in lines(tmp_path / "notebooks.jsonl")} == {
        "u/n0",
        "u/n19",
        "u/n1",
        "u/n18",
    }
    assert ("notebooks", "score-ascending") in kaggle.calls
    visit(kaggle, tmp_path, QuickClock(), lower=False)
    assert ("notebooks", "score-descending") in kaggle.calls
    visit(kaggle, tmp_path, QuickClock(), lower=None)
    assert not any(what.startswith("score") for name, what in kaggle.calls)


def test_only_answered_discussions_are_read_again(tmp_path: Path) -> None:
    """A new comment causes a fetch of a discussion, a vote does not."""
    kaggle, clock = ScriptedKaggle(tiny_world()), QuickClock()
    visit(kaggle, tmp_path, clock)
    topic = kaggle.world.topics[0].model_copy(update={"votes": 8})
    kaggle.world.topics = (topic,)
    assert visit(kaggle, tmp_path, clock).discussions == 0
    assert lines(tmp_path / "discussions.jsonl")[0]["votes"] == 8
    kaggle.world.topics = (topic.model_copy(update={"comments": 3, "last_comment": day(6)}),)
    kaggle.world.comments[7] += (CommentFacts(id=73, author="Bo", body="Oh.", posted=day(6)),)
    assert visit(kaggle, tmp_path, clock).discussions == 1
    assert len(lines(tmp_path / "discussions.jsonl")[0]["comments"]) == 3


def test_what_came_before_a_failure_is_kept(tmp_path: Path) -> None:
    """After a failure the next fetch continues."""
    kaggle = ScriptedKaggle(tiny_world(), chunk=50)
    kaggle.world.notebooks = tuple(
        NotebookFacts(ref=f"u/n{n}", title="", author="u", version=1, last_run=day(1), source="")
        for n in range(6)
    )
    asked = kaggle.notebook

    class Failing(ScriptedKaggle):
        def notebook(self, ref: str) -> NotebookFacts:
            if ref == "u/n3":
                raise KaggleBusyError("down")
            return asked(ref)

    failing = Failing(kaggle.world, chunk=50)
    news = visit(failing, tmp_path, QuickClock())
    assert news.stopped == "down"
    kept = {line["ref"] for line in lines(tmp_path / "notebooks.jsonl")}
    assert kept == {"u/n0", "u/n1", "u/n2"}
    assert visit(kaggle, tmp_path, QuickClock()).notebooks == 3
    assert not any(name == "notebook" and what in kept for name, what in kaggle.calls)


def test_a_torn_line_is_asked_for_again(tmp_path: Path) -> None:
    """Torn lines are fetched again."""
    kaggle = ScriptedKaggle(tiny_world())
    visit(kaggle, tmp_path, QuickClock())
    path = tmp_path / "notebooks.jsonl"
    whole = path.read_text()
    path.write_text(whole[:-20])
    visit(kaggle, tmp_path, QuickClock())
    assert path.read_text() == whole


def test_notebooks_that_are_gone_or_of_other_languages(tmp_path: Path) -> None:
    """Notebooks that cannot be fetched, or in R, are skipped."""
    kaggle = ScriptedKaggle(tiny_world())
    best, liked = kaggle.world.notebooks
    gone = best.model_copy(update={"ref": "who/gone"})
    listed = (gone, best.model_copy(update={"ref": "ann/in-r", "language": "r"}), liked)

    class Half(ScriptedKaggle):
        def notebook(self, ref: str) -> NotebookFacts:
            self.world.notebooks = tuple(each for each in listed if each.ref != "who/gone")
            return super().notebook(ref)

    kaggle.world.notebooks = listed
    assert visit(Half(kaggle.world), tmp_path, QuickClock()).notebooks == 1


def test_datasets_that_notebooks_use(tmp_path: Path) -> None:
    """Datasets of notebooks are found by their own names."""
    kaggle = ScriptedKaggle(tiny_world())
    visit(kaggle, tmp_path, QuickClock())
    assert [what for name, what in kaggle.calls if name == "datasets"] == [SLUG, "more", "more"]
    assert lines(tmp_path / "datasets.jsonl")[0]["ref"] == "bob/more"


def test_a_text_with_separators_of_lines_is_kept(tmp_path: Path) -> None:
    """Unicode line separators inside JSON do not split lines."""
    kaggle, clock = ScriptedKaggle(tiny_world()), QuickClock()
    best, liked = kaggle.world.notebooks
    source = "a = '\\u2028'\u2028b = 1\x85"
    kaggle.world.notebooks = (best.model_copy(update={"source": source}), liked)
    visit(kaggle, tmp_path, clock)
    visit(kaggle, tmp_path, clock)
    assert ("notebook", "ann/best") not in kaggle.calls
