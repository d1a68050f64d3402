"""Requests of other programs are forwarded with our limits; what a server would do by itself is not."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.errors import ModelRefusedError
from comind.llm.forwarding import ForeignRequest, RefusedRequestError, check_request
from comind.llm.openai_model import OpenAIModel
from comind.llm.settings import ModelSettings, Price, Protocol
from tests.doubles.endpoint import Endpoint
from tests.doubles.faults import changed, raw, status

_KEY = "sk-0123456789"
_ASKED: dict[str, Any] = {"model": "any", "messages": [{"role": "user", "content": "Say yes."}]}
_TOOL = {"type": "function", "function": {"name": "submit", "parameters": {"type": "object"}}}
_PRICE = Price(prompt=10, completion=30)


def _model(url: str, **settings: Any) -> OpenAIModel:
    given = ModelSettings(price=_PRICE, **settings)
    return OpenAIModel("large", base_url=url, api_key=_KEY, settings=given)


def _asked(protocol: Protocol = "chat", **values: Any) -> ForeignRequest:
    return check_request(protocol, _ASKED | values)


def _said(part: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [part]}]}


def _image(url: str) -> dict[str, Any]:
    return _said({"type": "image_url", "image_url": {"url": url}})


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"messages": None}, "no JSON object with messages"),
        ({"web_search_options": {}}, "'web_search_options' is not forwarded"),
        ({"service_tier": "priority"}, "'service_tier' is not forwarded"),
        ({"store": True}, "'store' is not forwarded"),
        ({"tools": [{"type": "web_search"}]}, "tools that the server runs are not forwarded"),
        ({"tools": [{"type": "mcp", "server_url": "http://x"}]}, "tools that the server runs"),
        (_image("https://example.org/a.png"), "addresses are not forwarded"),
        (_image(""), "addresses are not forwarded"),
        (_said({"type": "file", "file": {"file_id": "f"}}), "'file' is not forwarded"),
        (_said({"image_url": {"url": "http://10.0.0.1/x"}}), "addresses are not forwarded"),
        (_said({"type": "image_url", "image_url": {"url": "data:x"}, "file_id": "f"}), "'file_id' is"),
        ({"messages": [{"role": "assistant", "audio": {"id": "a"}}]}, "'audio' is not forwarded"),
        ({"messages": [{"id": "msg_123"}]}, "neither a message nor a call"),
        ({"messages": ["hello"]}, "neither a message nor a call"),
        ({"temperature": float("nan")}, "not finite"),
        ({"tools": 5}, "tools that the server runs"),
        ({"max_tokens": 0}, "positive integers"),
        ({"max_tokens": "many"}, "positive integers"),
        ({"n": True}, "positive integers"),
        ({"n": 9}, "more than 8 replies"),
    ],
)
def test_what_a_server_would_do_by_itself_is_refused(values: dict[str, Any], why: str) -> None:
    """Search, files, addresses and stored conversations are refused in one line, as is nonsense."""
    with pytest.raises(RefusedRequestError, match=why):
        _asked(**values)


def test_messages_tools_and_sampling_are_forwarded_unchanged() -> None:
    """Our model, token limit and key replace the program's; the reply comes back as it was sent."""
    with Endpoint(lambda asked: "", [changed(tool_calls=[{"id": "1", **_TOOL}])]) as server:
        model = _model(server.url)
        given = {"tools": [_TOOL], "tool_choice": "required", "temperature": 0.3, "seed": 7}
        asked = _asked(**given, max_completion_tokens=90)
        found = model.forward(asked, model.forward_bound(asked), None)
    sent = server.requests[0]
    assert sent.body == {**_ASKED, **given, "model": "large", "max_tokens": 90}
    assert sent.key == _KEY
    message = json.loads(found.text)["choices"][0]["message"]
    assert message["tool_calls"][0]["function"]["name"] == "submit"
    assert found.usage.tokens == server.counted.tokens
    assert found.usage.usd == pytest.approx(
        (10 * server.counted.prompt_tokens + 30 * server.counted.completion_tokens) / 1e6
    )


@pytest.mark.parametrize("wanted", [True, False])
def test_a_stream_is_forwarded_and_its_usage_charged(wanted: bool) -> None:
    """The usage is always asked for; a program that did not ask gets no event of it."""
    with Endpoint(lambda asked: "one two three") as server:
        model = _model(server.url)
        asked = _asked(stream=True, stream_options={"include_usage": wanted})
        found = model.forward(asked, model.forward_bound(asked), None)
    assert found.usage.completion_tokens == server.counted.completion_tokens
    assert found.text.endswith("data: [DONE]\n\n")
    events = [json.loads(each[6:]) for each in found.text.split("\n\n")[:-2]]
    assert any(each.get("usage") for each in events) is wanted
    assert "".join(
        each["choices"][0]["delta"].get("content", "") for each in events if each["choices"]
    ) == ("one two three")


def test_the_responses_protocol_is_forwarded_without_a_store() -> None:
    """A request of the other protocol has its limit's name, and leaves nothing at the server."""
    with Endpoint(lambda asked: "yes") as server:
        model, asked = _model(server.url), check_request("responses", {"input": "Say yes."})
        found = model.forward(asked, model.forward_bound(asked), None)
    assert server.requests[0].path == "/v1/responses"
    assert server.requests[0].body == {
        "input": "Say yes.",
        "model": "large",
        "max_output_tokens": 8192,
        "store": False,
    }
    assert json.loads(found.text)["output"][0]["content"][0]["text"] == "yes"


def test_a_reply_has_the_users_token_limit() -> None:
    """`max_tokens` of the settings replaces the program's own, as it replaces those of roles."""
    with Endpoint(lambda asked: "yes") as server:
        model = _model(server.url, max_tokens=50)
        for asked in (_asked(), _asked(max_tokens=4000), _asked(n=3)):
            model.forward(asked, model.forward_bound(asked), None)
    assert [each.body["max_tokens"] for each in server.requests] == [50, 50, 50]


def test_a_refused_request_is_the_programs_response_without_our_key() -> None:
    """A server that refuses one request, and quotes the key, ends nothing and costs nothing."""
    with Endpoint(lambda asked: "yes", [status(400, f"bad tool choice, key {_KEY}")]) as server:
        model = _model(server.url)
        found = model.forward(_asked(), model.forward_bound(_asked()), None)
    assert (found.status, found.reply, found.usage.tokens) == (400, None, 0)
    assert "bad tool choice" in found.text
    assert _KEY not in found.text


def test_a_reply_that_quotes_the_key_is_forwarded_without_it() -> None:
    """A gateway may name the key in a good response, too."""
    with Endpoint(lambda asked: f"your key is {_KEY}") as server:
        model = _model(server.url)
        found = model.forward(_asked(), model.forward_bound(_asked()), None)
    assert "your key is (the key)" in found.text


def test_a_refused_key_is_no_response_of_the_program() -> None:
    """What ends every call is raised, so that the campaign stops and can be resumed."""
    with Endpoint(lambda asked: "yes", [status(401)]) as server, pytest.raises(ModelRefusedError):
        _model(server.url).forward(_asked(), _model(server.url).forward_bound(_asked()), None)


def test_a_parameter_that_the_server_lacks_is_left_out() -> None:
    """A refusal that names the temperature or the limit's name teaches the next request."""
    faults = [
        status(400, "temperature is not supported"),
        status(400, "use 'max_completion_tokens' instead of 'max_tokens'"),
    ]
    with Endpoint(lambda asked: "yes", faults) as server:
        model, asked = _model(server.url), _asked(temperature=0.5)
        assert model.forward(asked, model.forward_bound(asked), None).status == 200
        model.forward(asked, model.forward_bound(asked), None)
    assert [sorted(set(each.body) - set(_ASKED)) for each in server.requests] == [
        ["max_tokens", "temperature"],
        ["max_tokens"],
        ["max_completion_tokens"],
        ["max_completion_tokens"],
    ]


@pytest.mark.parametrize(
    ("values", "refusal"),
    [
        ({"response_format": {"type": "nonsense"}}, "invalid schema for response_format"),
        ({"temperature": 5}, "temperature: 5 is above the maximum value"),
    ],
)
def test_a_program_cannot_take_a_capability_from_other_requests(
    values: dict[str, Any], refusal: str
) -> None:
    """A value that is the program's fault ends neither schemas nor temperatures of others."""
    faults = [status(400, refusal), status(400, refusal)]
    with Endpoint(lambda asked: "yes", faults) as server:
        model, asked = _model(server.url), _asked(**values)
        model.forward(asked, model.forward_bound(asked), None)
        assert model.capabilities.structured
        assert model.capabilities.strict
        assert model.capabilities.temperature


def test_the_settings_of_the_model_hold() -> None:
    """The user's effort replaces the program's; his temperature stands where the program has none."""
    with Endpoint(lambda asked: "yes") as server:
        model = _model(server.url, temperature=0.2, reasoning_effort="high")
        for asked in (_asked(reasoning_effort="low"), _asked(temperature=0.9)):
            model.forward(asked, model.forward_bound(asked), None)
    sent = [(each.body["temperature"], each.body["reasoning_effort"]) for each in server.requests]
    assert sent == [(0.2, "high"), (0.9, "high")]


def test_a_lower_limit_that_the_server_names_is_used() -> None:
    """A reply gets no more tokens than the server allows, now and for later requests."""
    refusal = "max_tokens is too large: 8192. This model supports at most 4096 completion tokens"
    with Endpoint(lambda asked: "yes", [status(400, refusal)]) as server:
        model = _model(server.url)
        for _ in range(2):
            assert model.forward(_asked(), model.forward_bound(_asked()), None).status == 200
    assert [each.body["max_tokens"] for each in server.requests] == [8192, 4096, 4096]


def test_a_smaller_context_that_the_server_names_is_used() -> None:
    """The limit of a reply shrinks with the context window; a longer request is refused."""
    refusal = "This model's maximum context length is 4096 tokens"
    with Endpoint(lambda asked: "yes", [status(400, refusal), None, status(400, refusal)]) as server:
        model = _model(server.url)
        assert model.forward(_asked(), model.forward_bound(_asked()), None).status == 200
        assert model.forward(_asked(), model.forward_bound(_asked()), None).status == 400
    assert [each.body["max_tokens"] for each in server.requests] == [8192, 1638, 1638]


def test_a_protocol_that_the_server_lacks_is_the_programs_response() -> None:
    """A program that tries the other protocol next is not stopped; an unknown model stops all."""
    with Endpoint(
        lambda asked: "yes", [status(404, "no such path"), status(404, "no such model")]
    ) as server:
        model, asked = _model(server.url), check_request("responses", {"input": "Say yes."})
        assert model.forward(asked, model.forward_bound(asked), None).status == 404
        with pytest.raises(ModelRefusedError):
            model.forward(asked, model.forward_bound(asked), None)


def test_half_of_a_character_is_replaced() -> None:
    """A text that was cut inside of a character cannot be sent as it is."""
    with Endpoint(lambda asked: "yes") as server:
        model, asked = _model(server.url), _asked(messages=[{"role": "user", "content": "\ud83d!"}])
        model.forward(asked, model.forward_bound(asked), None)
    assert server.requests[0].text == "\ufffd!"


def test_a_request_without_a_plausible_count_is_charged_its_bound() -> None:
    """A server without usage, or with an absurd one, cannot make a campaign look cheap."""
    bare = json.dumps({"choices": [{"message": {"content": "yes"}}], "usage": {"prompt_tokens": -1}})
    with Endpoint(lambda asked: "yes", [raw(bare)]) as server:
        model = _model(server.url)
        bound = model.forward_bound(_asked())
        found = model.forward(_asked(), bound, None)
    assert found.reply is not None
    assert found.reply.usage == bound
    assert not found.reply.exact


_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)


@given(
    st.lists(
        st.tuples(st.sampled_from(["system", "user", "assistant"]), _TEXTS), min_size=1, max_size=6
    ),
    st.integers(1, 4000),
    st.integers(1, 8),
)
def test_no_request_costs_more_than_its_bound(
    conversation: list[tuple[str, str]], limit: int, replies: int
) -> None:
    """The bound covers each byte of the conversation as a token, and each reply at its limit."""
    messages = [{"role": role, "content": text} for role, text in conversation]
    asked = check_request("chat", {"messages": messages, "max_tokens": limit, "n": replies})
    bound = asked.bound(limit)
    assert bound.completion_tokens == limit * replies
    assert bound.prompt_tokens >= sum(len(text.encode()) + 16 for _, text in conversation)


def test_requests_that_differ_in_numbers_alone_have_one_fingerprint() -> None:
    """Running times in a prompt change from run to run; words do not."""
    took = [_asked(messages=[{"role": "user", "content": f"It took {each}."}]) for each in (3.1, 2.99)]
    other = _asked(messages=[{"role": "user", "content": "It failed."}])
    assert took[0].fingerprint == took[1].fingerprint != other.fingerprint
