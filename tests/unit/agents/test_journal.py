"""The journal states what was read and why, the ideas, and their results."""

from comind.agents.comind.journal import journal_of
from comind.agents.comind.thoughts import ANALYZE, COORDINATE, PROPOSE
from comind.domain.draft import Draft
from tests.unit.agents.community import VIEW
from tests.unit.agents.rounds import IDEA, REPORT, attempt, baseline, state_of, thought
from tests.unit.campaign.samples import code, scored

_SAMPLED = [{"id": "ben/forest", "kind": "notebook", "why": "number 2 of 2 notebooks by rank"}]


def test_a_round_is_told_from_reading_to_result() -> None:
    """It has an item, why it was read, its ideas, dropped sources, the attempt, and its influence."""
    draft = Draft(title="a forest", method="m", strategy="novel", sources=("idea-000",))
    work = code().model_copy(update={"draft": draft})
    rated = IDEA | {"id": "idea-001", "sources": [], "potential": 7, "feasibility": 6, "agreement": 5}
    state = state_of(
        *baseline(),
        *thought(0, ANALYZE, {"reports": [REPORT], "skipped": ["1: no JSON"]}, sampled=_SAMPLED),
        *thought(1, PROPOSE, {"ideas": [IDEA, rated], "unknown": ['R9, named by "Fly."']}),
        *thought(2, COORDINATE, {"drafts": [draft.model_dump(mode="json")]}),
        *attempt(1, work, scored(0.8)),
    )
    told = journal_of(state, VIEW)
    for line in (
        "- ben/forest (number 2 of 2 notebooks by rank): A forest of extra trees",
        "- no report on 1: no JSON",
        "- idea-000 (value 6, from ben/forest): Use extra trees.",
        "- idea-001 (value 6: potential 7, feasibility 6, agreement 5): Use extra trees.",
        '- no such source: R9, named by "Fly."',
        "- attempt-001 (novel): a forest, from idea-000: accuracy 0.8",
        "- notebook ben/forest: 1 drafts, 1 solutions",
    ):
        assert line in told


def test_a_report_is_told_with_its_weaknesses() -> None:
    """What a report finds wrong follows its ratings."""
    weak = REPORT | {"weaknesses": ["It leaks.", "It is slow."]}
    state = state_of(*baseline(), *thought(0, ANALYZE, {"reports": [weak]}, sampled=_SAMPLED))
    assert "confidence 4) Weaknesses: It leaks.; It is slow." in journal_of(state, VIEW)


def test_readers_of_a_round_are_one_round() -> None:
    """Reports of parallel readers are below one heading; the next reading begins a new round."""
    solution = REPORT | {"item": "attempt-000", "kind": "solution", "title": "a line"}
    state = state_of(
        *baseline(),
        *thought(0, ANALYZE, {"reports": [REPORT]}, sampled=_SAMPLED),
        *thought(1, ANALYZE, {"reports": [solution]}),
        *thought(2, PROPOSE, {"ideas": [IDEA]}),
        *thought(3, COORDINATE, {"drafts": [], "refused": "all were tried"}),
        *thought(4, ANALYZE, {"reports": [REPORT]}, sampled=_SAMPLED),
    )
    told = journal_of(state, VIEW)
    assert [line for line in told.splitlines() if line.startswith("## R")] == [
        "## Round 1",
        "## Round 2",
    ]
    assert told.count("Read:") == 2
    assert "- attempt-000, a line (a solution of this campaign): " in told
    assert "none, all were tried" in told


def test_strangers_write_no_markup() -> None:
    """Text from the community becomes one short line without markup."""
    hostile = REPORT | {"summary": "# big\n![x](http://evil)<script>" + "y" * 9_000}
    state = state_of(*baseline(), *thought(0, ANALYZE, {"reports": [hostile]}, sampled=_SAMPLED))
    [line] = [each for each in journal_of(state, VIEW).splitlines() if "big" in each]
    assert "<script>" not in line.replace("\\<script\\>", "")
    assert "](http" not in line.replace("\\](http", "")
    assert len(line) < 600
