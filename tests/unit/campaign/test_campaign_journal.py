"""The journal lists attempts below their parents, in plain text without markup from models."""

import re

from hypothesis import given
from hypothesis import strategies as st

from comind.campaign.log.campaign_events import BlendJudged, CampaignEvent, FinalPicked, FoldsPlanned
from comind.campaign.log.outcome import CellSummary, CodeOutcome
from comind.campaign.reports.campaign_graph import graph_of_campaign
from comind.campaign.reports.campaign_journal import (
    attempt_lines,
    closing_notes,
    journal_of,
    plain,
    step_lines,
)
from comind.campaign.reports.tuning import Tuning
from comind.domain.community import CommunityView
from comind.domain.draft import Draft
from tests.unit.agents.rounds import attempt, state_of
from tests.unit.campaign.samples import code, failed, scored, split_made


def _tried(
    number: int, *parents: str, outcome: CodeOutcome | None = None, **draft: object
) -> list[CampaignEvent]:
    values = {"title": f"draft {number}", "method": "m"} | draft
    changes = {"draft": Draft.model_validate(values), "parents": parents}
    return attempt(number, code().model_copy(update=changes), outcome)


def test_an_attempt_stands_below_what_it_came_from() -> None:
    """Children are indented below their first parent, in the order of planning."""
    state = state_of(
        *_tried(0, outcome=scored(0.7)),
        *_tried(1, outcome=failed()),
        *_tried(2, "attempt-000", outcome=scored(0.8)),
        *_tried(3, "attempt-002", "attempt-001"),
        *_tried(4, "attempt-000", kind="ensemble", sources=("attempt-000", "idea-000")),
    )
    assert journal_of(state).splitlines() == [
        "# demo-tiny-1",
        "",
        "## Attempts",
        "",
        "- attempt-000: draft 0: accuracy 0.7 \\[0.7, 0.7\\]",
        "  - attempt-002: draft 2: accuracy 0.8 \\[0.8, 0.8\\]",
        "    - attempt-003: draft 3: running",
        "  - attempt-004 (ensemble): draft 4, from attempt-000, idea-000: running",
        "- attempt-001: draft 1: KeyError: 'x'",
    ]


def test_a_solution_bears_the_title_of_its_report() -> None:
    """An attempt's title is its report's, not its draft's."""
    became = scored(0.8).model_copy(update={"title": "a forest instead"})
    state = state_of(*_tried(0, outcome=became))
    assert list(attempt_lines(state)) == ["- attempt-000: a forest instead: accuracy 0.8 \\[0.8, 0.8\\]"]
    titles = {node.id: node.title for node in graph_of_campaign(state, CommunityView())}
    assert titles == {"draft:attempt-000": "draft 0", "solution:attempt-000": "a forest instead"}


def test_steps_are_told_with_what_came_of_them() -> None:
    """A failed step, its repair and the report follow the attempt; further steps are counted."""
    cells = [CellSummary(step=1, goal="fit", result="KeyError: 'x'")]
    cells += [CellSummary(step=number, goal="again", result="accuracy 0.8") for number in range(2, 15)]
    outcome = scored(0.8).model_copy(
        update={"cells": tuple(cells), "report": "It is a line.\n- Try `trees`."}
    )
    told = list(step_lines(state_of(*_tried(0, outcome=outcome), *_tried(1))))
    assert told[:4] == [
        "### attempt-000: draft 0",
        "",
        "- step 1: fit: KeyError: 'x'",
        "- step 2: again: accuracy 0.8",
    ]
    assert told[-5:] == ["- and 2 steps more", "", "It is a line.\n", "- Try \\`trees\\`.", ""]


def test_easier_validation_stands_in_the_journal() -> None:
    """Warnings about validation follow the attempts, and only if there are any."""
    assert closing_notes(state_of(), Tuning()) == ""
    assert closing_notes(state_of(split_made()), Tuning()) == ""
    said = closing_notes(state_of(split_made(warnings=("too easy", "again"))), Tuning())
    assert said.splitlines() == ["", "## Validation", "", "- too easy", "- again"]


def test_how_often_validation_was_asked_stands_in_the_journal() -> None:
    """Gradings and optimism are listed, with a warning if the best is within noise of others."""
    tuning = Tuning(gradings=9, rows=40, error=0.02, optimism=0.03, others=2, near=2, lead=0.01)
    said = closing_notes(state_of(split_made()), tuning).splitlines()
    assert said[3] == "- 9 gradings, optimism about 0.03 on 40 rows"
    assert [line for line in said if "cannot tell" in line or "too good" in line] == said[4:]


def test_how_a_campaign_came_to_its_submission_is_told_once_and_last() -> None:
    """Folds, blend, final pick and its confidence are in one section."""
    picked = FinalPicked(
        work_id="attempt-000",
        reason="the best",
        leaderboard=(),
        folds=2,
        confidence=0.9,
        notes=("so",),
    )
    events = (
        *_tried(0, outcome=scored(0.8)),
        FoldsPlanned(finalists=("attempt-000", "attempt-001"), folds=2, left_out=("one did not run",)),
        BlendJudged(candidates=2, folds=2, reason="no average is better"),
        picked,
    )
    assert closing_notes(state_of(*events), Tuning()).splitlines() == [
        "",
        "## The end",
        "",
        "- folds: up to 2 for attempt-000, attempt-001; one did not run",
        "- blend: none, no average is better",
        "- final pick: attempt-000, the best",
        "- 90% sure that no other is better, by validation and 2 folds; so",
    ]


@given(st.lists(st.lists(st.integers(0, 9), max_size=3), max_size=8))
def test_every_attempt_has_one_line(parents: list[list[int]]) -> None:
    """Every attempt is listed once, whatever parents an agent names, itself and later ones included."""
    events = [
        event
        for number, each in enumerate(parents)
        for event in _tried(number, *(f"attempt-{parent:03d}" for parent in each))
    ]
    told = [line.lstrip(" -").partition(":")[0] for line in attempt_lines(state_of(*events))]
    assert sorted(told) == [f"attempt-{number:03d}" for number in range(len(parents))]


def test_hostile_words_stay_on_their_line() -> None:
    """Titles, kinds and messages written by models add neither lines nor markup."""
    hostile = "a <img src=x>\n\n# b ![c](http://d) `e`"
    error = failed()
    assert error.failure is not None
    error = error.model_copy(update={"failure": error.failure.model_copy(update={"message": hostile})})
    title = hostile.replace("\n", "\r")
    [line] = attempt_lines(state_of(*_tried(0, outcome=error, title=title, kind=hostile)))
    assert line.startswith("- attempt-000 (a \\<img src=x\\> \\# b \\!\\[c\\](http://d) \\`e\\`): ")
    assert not re.search(r"(?<!\\)[<>`#!\[\]]", line)


@given(st.text())
def test_plain_text_is_one_short_line_without_markup(text: str) -> None:
    """Each Markdown character is escaped, wherever the text is truncated."""
    line = plain(text * 200)
    assert line.isprintable()
    bare = re.sub(r"\\[\\`*_<>\[\]|#!]", "", line)
    assert not set(bare) & set("\\`*_<>[]|#!")
    assert len(line) <= 2 * 300 + len(" ...")


def test_a_long_text_is_truncated_with_three_dots() -> None:
    """Truncated text ends in three dots."""
    assert plain("y" * 301) == "y" * 300 + " ..."
    assert plain("y" * 300) == "y" * 300
