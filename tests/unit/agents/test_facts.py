"""Measured facts, and what submissions and folds hold, are in the prompts of those who need them."""

import json
from pathlib import Path

import pytest

from comind.agents.comind.conversation import TEMPLATES
from comind.campaign.log.work import Code, Think
from comind.campaign.worker import execute
from comind.domain.facts import Fact, FactSheet
from comind.domain.metric import MetricTraits
from comind.domain.problem import AnswerKind
from comind.testing import ScriptedModel
from tests.unit.agents.arms import REPLIES
from tests.unit.agents.community import VIEW
from tests.unit.agents.rounds import after_one_round, drafting, proposing, reading
from tests.unit.agents.samples import PROBLEM, agent_for
from tests.unit.campaign.samples import code
from tests.unit.campaign.world import World

_SHEET = FactSheet(
    baseline=(Fact(text="The baseline ran 12 s and scored 0.7", source="attempt-000"),),
    attempts=(Fact(text="Step 3 ran 40 s and scored 0.9", source="attempt-001"),),
)
_LINES = (
    "- [attempt-000] The baseline ran 12 s and scored 0.7\n"
    "- [attempt-001] Step 3 ran 40 s and scored 0.9"
)


def _work(role: str) -> Think | Code:
    state = after_one_round()
    match role:
        case "analyzer":
            work = reading(state, VIEW)
            assert work is not None
            return work
        case "idea_proposer":
            return proposing(state)
        case "coordinator":
            return drafting(state, VIEW)
        case _:
            return code()


@pytest.mark.parametrize("role", ["analyzer", "idea_proposer", "coordinator", "coding_agent"])
def test_every_role_gets_the_facts_of_its_work(role: str, tmp_path: Path) -> None:
    """The first request of each role has the lines of the sheet; without facts it has no heading."""
    for sheet in (_SHEET, FactSheet()):
        world = World(tmp_path / str(bool(sheet.facts)))
        world.model = ScriptedModel(['{"paths": [{"approach": "a", "ideas": ["b"]}]}'] * 20)
        work = _work(role).model_copy(update={"measured": sheet})
        execute(agent_for(community=VIEW), work, world.folder.work("w"), world.dependencies())
        first = world.model.requests[0].messages[-1].content
        assert (_LINES in first) is bool(sheet.facts)
        assert ("Measured facts" in first) is bool(sheet.facts)


def test_the_selection_of_ideas_gets_the_facts(tmp_path: Path) -> None:
    """Ideas are filtered by what was measured, too."""
    world = World(tmp_path)
    world.model = ScriptedModel(lambda request: json.dumps(REPLIES[request.reply_name]))
    work = _work("idea_proposer").model_copy(update={"measured": _SHEET})
    execute(agent_for(), work, world.folder.work("w"), world.dependencies())
    [asked] = [each for each in world.model.requests if each.reply_name == "Selection"]
    assert _LINES in "\n".join(message.content for message in asked.messages)


def _hand_in(**changes: object) -> str:
    problem = PROBLEM.model_copy(update=changes)
    room = {"columns": 100}
    return TEMPLATES.render("platform/hand_in", problem=problem, room=room, large=True)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, "labels as in the column label of train.csv, not probabilities. No cell may be empty."),
        ({"answer_kind": AnswerKind.NUMBER}, "numbers on the scale of label in train.csv"),
        ({"answer_kind": AnswerKind.PROBABILITY}, "probabilities from 0 to 1 of the value 1."),
        (
            {"answer_kind": AnswerKind.PROBABILITY, "positive_class": "ill"},
            "probabilities from 0 to 1 that a row is ill.",
        ),
        (
            {"answer_kind": AnswerKind.PROBABILITY, "traits": MetricTraits(ranking=True)},
            "numbers of which only the order counts",
        ),
        (
            {"answer_kind": AnswerKind.CLASS_PROBABILITIES},
            "a column for each class in the order above, which sum to 1 in each row",
        ),
        (
            {"answer_kind": AnswerKind.LABEL_SET, "traits": MetricTraits(guesses=3)},
            "labels separated by spaces, the best first, 3 at most. A cell may be empty",
        ),
        ({"answer_kind": AnswerKind.TEXT}, "texts. A cell may be empty"),
        ({"answer_kind": AnswerKind.MASK}, "run-length encoded"),
    ],
)
def test_what_a_submission_holds_is_told(changes: dict[str, object], told: str) -> None:
    """Each kind of answer has its own sentence on what the target columns hold."""
    assert f"The predictions are {told}" in _hand_in(**changes) or told in _hand_in(**changes)


@pytest.mark.parametrize(
    ("means", "told"),
    [
        (("mean",), ""),
        (("vote",), "the probabilities behind the labels, "),
        (("vote",), "the id columns and a column for each class of train.csv, named by it."),
        (("rounded", "vote"), "the numbers that you round to labels, "),
        (
            ("rounded", "vote"),
            "and the target column, with numbers that are not rounded.",
        ),
    ],
)
def test_probabilities_are_asked_for_beside_labels_alone(means: tuple[str, ...], told: str) -> None:
    """Where one column of labels is predicted, their files and form are told."""
    text = _hand_in(traits=MetricTraits(means=means))
    assert ("test_probabilities.csv" in text) == bool(told)
    assert told in text


def test_the_kind_of_folds_is_told_as_it_is() -> None:
    """Nothing is said of time where rows are at random; older splits tell no kind."""
    text = _hand_in(fold_rows="rows at random", held_out="rows at random")
    told = "5 folds from 0, each of rows at random; validation.csv was cut by the same rule: rows at"
    assert told in text
    assert "time" not in text.split("input/folds/folds.csv")[1].split("\n")[0]
    assert "5 folds from 0, cut as validation.csv was. Cross-validate" in _hand_in()
    assert "folds.csv" not in _hand_in(folds=0)


def test_a_coder_is_told_what_lives_on_and_what_an_empty_cell_is() -> None:
    """Variables survive a stopped cell, and an empty cell ends the attempt."""
    text = TEMPLATES.render("coding_system", problem=PROBLEM, takes_images=False)
    assert "Variables are kept after a cell that failed or was stopped" in text
    assert "An empty cell says that nothing is left to try." in text
