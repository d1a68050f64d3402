"""Structured output: a validated value, or an error message written for the model."""

import ast
import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.errors import ReplyError
from comind.llm.exchange import ask, parse
from comind.llm.model_ports import Message, ModelReply, ModelRequest
from comind.testing import ScriptedModel
from tests.unit.llm.samples import Step, Verdict

PROMPT = ModelRequest(role="coder", messages=(Message(role="user", content="Go on."),))


def _text(goal: str, code: str) -> str:
    return f"```python\n# goal: {goal}\n{code}\n```\n"


def _compiles(code: str) -> bool:
    try:
        ast.parse(code)
    except SyntaxError:
        return False
    return not code.startswith("#") and "\r" not in code


def _parse(text: str, form: str = "text", finish: str = "stop") -> Step:
    reply = ModelReply.model_validate({"text": text, "form": form, "model": "m", "finish": finish})
    return parse(reply, Step)


@given(
    st.lists(
        st.sampled_from(
            [
                "x = 1\n",
                "y = '''",
                "'''\n",
                'z = "</code> {}"\n',
                "```\n",
                "```python\n",
                "# é\n",
                "if x:\n    pass\n",
            ]
        ),
        max_size=30,
    )
    .map("".join)
    .filter(_compiles)
)
def test_code_survives_any_content(code: str) -> None:
    """Quotes, tags, braces and fences inside a program are preserved."""
    assert _parse(_text("go", code)).code == code.strip("\n")
    assert _parse(json.dumps({"goal": "go", "code": code}), form="json").code == code


@given(st.text(max_size=80), st.text(alphabet="`~<>{}'\"\\\n#[]()abc ", max_size=120))
def test_any_text_inside_code_survives(one: str, other: str) -> None:
    """A program is extracted unchanged whatever its strings and quotes hold."""
    quoted = other.replace("\\", "").replace("'", "").strip("`") or "x"
    code = f"x = {one!r}\ny = {other!r}\nz = '''\n{quoted}\n'''"
    if not _compiles(code):
        return
    for words in ("", "Sure!\n", "<think>Hm, `x`?</think>\n"):
        assert _parse(words + _text("go", code) + "\nThat is all.").code == code
    assert _parse(json.dumps({"goal": "go", "code": code}), form="json").code == code


def test_words_around_the_reply_are_passed_over() -> None:
    """Text before and after a reply is ignored."""
    text = f"Sure! Here it is:\n{_text('fit', 'model.fit(x)')}\nGood luck."
    assert _parse(text) == Step(goal="fit", code="model.fit(x)")


@pytest.mark.parametrize(
    ("text", "form", "finish", "reason"),
    [
        ("I cannot do that.", "text", "stop", "there is no block"),
        ("[1, 2]", "json", "stop", "it is not a JSON object"),
        ("", "json", "stop", "it is empty"),
        ('{"goal": 3}', "json", "stop", "goal: Input should be a valid string"),
        ('{"code": 3, "goal": "x"}', "json", "stop", "code: Input should be a valid string"),
        ("```python\nx = (1\n", "text", "stop", "its block is not closed"),
        ('{"goal": "x"}', "json", "length", "it was cut off"),
    ],
)
def test_a_reply_without_form_is_refused_with_a_reason(
    text: str, form: str, finish: str, reason: str
) -> None:
    """The error names the fault in words for the model."""
    with pytest.raises(ReplyError, match=reason):
        _parse(text, form, finish)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("# goal: fit\nx = 1", "x = 1"),
        ("```python\n# goal: fit\nx = 1\n```\nand then\n```python\ny = 2\n```", "x = 1\ny = 2"),
        ("```python\n# goal: fit\nx = 1\n```\n```python\n# goal: fit\nx = 1\n```", "x = 1"),
        ("```python\n# goal: fit\nx = 1", "x = 1"),
        ("```\n# goal: fit\n!pip list\n```", "!pip list"),
        ("```python\n# goal: fit\n```", ""),
    ],
    ids=["no fence", "two blocks", "said twice", "fence left open", "not quite Python", "no code"],
)
def test_what_models_do_to_a_block_is_understood(text: str, code: str) -> None:
    """Programs are extracted whole with missing or additional fences."""
    assert _parse(text) == Step(goal="fit", code=code)


def test_a_decision_in_words_is_found() -> None:
    """The text format of a reply without a program is one JSON object with any text around it."""
    reply = ModelReply(text='Well, {"stop": true} it is.', form="text", model="m")
    assert parse(reply, Verdict) == Verdict(stop=True)
    for text, reason in (("no", "there is no JSON object"), ('{"stop": tr', "object is broken")):
        with pytest.raises(ReplyError, match=reason):
            parse(ModelReply(text=text, form="text", model="m"), Verdict)


def test_an_invalid_reply_is_retried_with_its_error() -> None:
    """An invalid reply is retried, with the reply and its error in the conversation."""
    model = ScriptedModel(["nonsense", '{"goal": "fit"}'])
    answer = ask(model, PROMPT, Step)
    assert answer.value.goal == "fit"
    assert answer.text == '{"goal": "fit"}'
    again = model.requests[1].messages
    assert again[0] == PROMPT.messages[0]
    assert again[1].content == "nonsense"
    assert "it is not JSON" in again[2].content


def test_three_refused_replies_are_enough() -> None:
    """A model that never replies in the format costs three calls."""
    model = ScriptedModel(["no"] * 9)
    with pytest.raises(ReplyError):
        ask(model, PROMPT, Step)
    assert len(model.requests) == 3


@given(st.text(max_size=200))
def test_no_reply_breaks_the_parser(text: str) -> None:
    """Any text is parsed to a value or raises a ReplyError."""
    for form in ("text", "json"):
        with contextlib.suppress(ReplyError):
            assert isinstance(_parse(text, form), Step)


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("text", ['{"goal": "\\ud800"}', '{"goal": "x", "\\udfff": 1}'])
def test_halves_of_characters_are_refused(text: str, form: str) -> None:
    """Also in a key, which an error might name; the reason can be sent back."""
    model = ScriptedModel([ModelReply.model_validate({"text": text, "form": form, "model": "m"})] * 3)
    with pytest.raises(ReplyError, match="halves of characters"):
        ask(model, PROMPT, Verdict)
    assert "halves of characters" in model.requests[-1].messages[-1].content
