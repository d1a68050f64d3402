"""Rules of a scripted model: which one answers, and what is said where none does."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from comind.agents.comind.analyzer import Analysis
from comind.agents.comind.coding_agent import AttemptReport, CodingStep
from comind.agents.comind.critic import CritiqueReply
from comind.agents.comind.draft_replies import Drafts
from comind.agents.comind.idea_proposer import Brainstorm, Selection
from comind.campaign.log.work_events import MonitorVerdict
from comind.campaign.work.metering import BudgetLedger, Meter, MeteredModel
from comind.demos.make import recordings
from comind.domain.spend import Budget, Spend
from comind.errors import ModelServiceError, UsageError
from comind.llm.exchange import parse
from comind.llm.model_ports import Message, ModelRequest
from comind.llm.rate_limiter import RateLimiter
from comind.testing.model import ScriptedModel
from comind.testing.rules import Rules

_TYPES: dict[str, type[BaseModel]] = {
    each.__name__: each
    for each in (
        *(Analysis, Brainstorm, Selection, Drafts, CodingStep, AttemptReport),
        *(MonitorVerdict, CritiqueReply),  # asked where a cell is slow, and of finalists
    )
}


def _asked(reply: str, *said: str) -> ModelRequest:
    """Return a request whose conversation alternates, the user's words first."""
    roles = ("user", "assistant")
    messages = [Message(role=roles[number % 2], content=text) for number, text in enumerate(said)]
    return ModelRequest(role="coder", messages=tuple(messages), reply_name=reply, reply_schema={})


def _rules(folder: Path, *rules: dict[str, object]) -> Path:
    path = folder / "replies.yaml"
    path.write_text(yaml.safe_dump(list(rules)))
    return path


def test_the_first_rule_that_fits_answers(tmp_path: Path) -> None:
    """A rule asks for a reply, words of the task, words of the last message, and a turn; or for less."""
    (tmp_path / "cell.py").write_text("# goal: begin\nx = 1\n")
    path = _rules(
        tmp_path,
        {"reply": "CodingStep", "about": "a forest", "turn": 1, "file": "cell.py"},
        {"reply": "CodingStep", "about": "a forest", "contains": "KeyError", "say": {"goal": "mend"}},
        {"reply": "CodingStep", "say": {"goal": "over"}},
    )

    def goal(*said: str) -> str:
        answered = Rules(path).answer(_asked("CodingStep", *said))
        return parse(answered, CodingStep).goal

    assert goal("Your draft: a forest") == "begin"
    assert goal("Your draft: a forest", "x = 1", "KeyError: 'x'") == "mend"
    assert goal("Your draft: a forest", "x = 1", "It ran.") == "over"
    assert goal("Your draft: a line", "x = 1", "others try a forest, KeyError") == "over"


def test_several_topics_must_all_be_there(tmp_path: Path) -> None:
    """One file of rules can answer for several competitions."""
    path = _rules(
        tmp_path,
        {"reply": "CodingStep", "about": ["Titanic", "a forest"], "say": {"goal": "trees"}},
        {"reply": "CodingStep", "about": "Titanic", "say": {"goal": "other"}},
    )
    replies = Rules(path)
    for task, goal in (("Titanic, by a forest", "trees"), ("Titanic, by a line", "other")):
        assert parse(replies.answer(_asked("CodingStep", task)), CodingStep).goal == goal


def test_a_missing_reply_is_named_in_one_line(tmp_path: Path) -> None:
    """Whoever edits a recording reads which reply of which role, about what and in which turn."""
    path = _rules(tmp_path, {"reply": "CodingStep", "about": "a forest", "turn": 1, "say": {}})
    model = ScriptedModel.from_file(path)
    with pytest.raises(ModelServiceError) as caught:
        model.complete(_asked("CodingStep", "Your draft: a forest", "x", "It ran.\nLeft: 3 steps."))
    told = f"{path}: no CodingStep of coder about 'a forest', turn 2, after: It ran. Left: 3 steps."
    assert str(caught.value) == told


def test_a_missing_reply_is_missed_once_and_by_nobody_else(tmp_path: Path) -> None:
    """A question of the monitor without a rule is not asked again, and other questions are answered."""
    path = _rules(tmp_path, {"reply": "CodingStep", "say": {"goal": "go on"}})
    scripted = ScriptedModel.from_file(path)
    limiter, ledger = RateLimiter(), BudgetLedger(Budget(), Spend())
    model = MeteredModel(scripted, Meter(ledger, limiter, note=lambda _: None))
    with pytest.raises(ModelServiceError, match="no MonitorVerdict of coder"):
        model.complete(_asked("MonitorVerdict", "A cell is running."))
    assert (len(scripted.requests), limiter.retries) == (1, 0)
    assert parse(model.complete(_asked("CodingStep", "Your draft")), CodingStep).goal == "go on"


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ("- {reply: A, say: {}, file: cell.py}", "rule 0: Value error, a rule has either"),
        ("- {reply: A}", "rule 0: Value error, a rule has either"),
        ("- {reply: A, say: {}, abuot: x}", "rule 0.abuot: Extra inputs"),
        ("- {reply: A, file: none.py}", "none.py: "),
        ("reply: A", "Input should be a valid list"),
        ("- {reply: ", "while parsing"),
    ],
)
def test_a_broken_file_is_refused(tmp_path: Path, rules: str, reason: str) -> None:
    """What is wrong with the rules is told before a campaign begins."""
    path = tmp_path / "replies.yaml"
    path.write_text(rules)
    with pytest.raises(UsageError) as caught:
        Rules(path)
    assert str(path) in str(caught.value)
    assert reason in str(caught.value)


@pytest.mark.parametrize("demo", recordings())
def test_a_recording_is_whole(demo: str) -> None:
    """Each reply has its form, each cell is used, and each draft of the Coordinator has its cells."""
    path = recordings()[demo]
    rules = yaml.safe_load(path.read_text())
    answer = Rules(path).answer
    replies = [
        parse(
            answer(_asked(each["reply"], *[each.get("about", "")] * (2 * each.get("turn", 1) - 1))),
            _TYPES[each["reply"]],
        )
        for each in rules
    ]
    named = {each["file"] for each in rules if "file" in each}
    assert named == {str(cell.relative_to(path.parent)) for cell in path.parent.glob("cells/*")}
    assert {each["reply"] for each in rules} == set(_TYPES)
    begun = {each["about"] for each in rules if each.get("turn") == 1}
    drafts = [draft.title for each in replies if isinstance(each, Drafts) for draft in each.drafts]
    assert begun == set(drafts)


@given(st.text(), st.text(), st.text(max_size=50))
def test_other_words_in_a_prompt_change_no_reply(before: str, after: str, told: str) -> None:
    """A cell is found by its draft and its turn, whatever else the prompt or the feedback says."""
    rules = _RECORDED["demo-mosaic"]
    task = f"{before}Trees on what the estimate leaves{after}"
    answered = rules.answer(_asked("CodingStep", task, "x", told))
    assert "n_jobs" in parse(answered, CodingStep).goal


_RECORDED = {name: Rules(path) for name, path in recordings().items()}
