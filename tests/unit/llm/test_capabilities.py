"""Unsupported capabilities are learnt from the first refusal."""

import json
from typing import Any

import pytest

from comind.errors import ContextError, ModelBusyError, ModelRefusedError, ReplyError
from comind.llm.capabilities import Capabilities
from comind.llm.exchange import ask, request_for
from comind.llm.model_ports import Message, ModelRequest
from comind.llm.openai_model import OpenAIModel
from comind.llm.settings import ModelSettings
from tests.doubles.endpoint import Endpoint, EndpointRequest
from tests.doubles.faults import EndpointResponse, Fault, changed, raw, status
from tests.unit.llm.samples import PROMPT, STOP, Step, Verdict


def _model(server: Endpoint, **settings: Any) -> OpenAIModel:
    found = ModelSettings(**settings)
    return OpenAIModel("test-model", base_url=server.url, api_key=None, settings=found)


def _refusing(word: str, message: str, code: int = 400) -> Any:
    """Refuse requests with `word` in their body."""
    return lambda _number, asked: status(code, message) if word in json.dumps(asked.body) else None


def _twice(server: Endpoint, **settings: Any) -> list[dict[str, Any]]:
    """Send two requests; return them."""
    model = _model(server, **settings)
    for _ in range(2):
        assert ask(model, PROMPT, Verdict).value == Verdict(stop=True)
    return [asked.body for asked in server.requests]


@pytest.mark.parametrize(
    ("word", "message", "code"),
    [
        ('"temperature"', "Unsupported value: 'temperature' does not support 0.2 with this model.", 400),
        (
            '"max_tokens"',
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            400,
        ),
        ('"response_format"', "response_format is not supported", 422),
        ('"strict"', "Unknown field strict", 400),
        ('"reasoning_effort"', "Unrecognized request argument supplied: reasoning_effort", 400),
        ('"system"', "System role not supported", 400),
    ],
)
def test_a_capability_that_was_refused_is_not_retried(word: str, message: str, code: int) -> None:
    """After one refusal, which costs nothing, no later request uses the capability."""
    with Endpoint(lambda asked: STOP, _refusing(word, message, code)) as server:
        sent = _twice(server, reasoning_effort="low")
    assert [word in json.dumps(body) for body in sent] == [True, False, False]


@pytest.mark.parametrize(
    "body",
    [
        {"object": "error", "message": "temperature is not supported", "code": 400},
        {"detail": [{"loc": ["body", "temperature"], "msg": "Extra inputs are not permitted"}]},
        {"object": "error", "message": {"detail": [{"loc": ["body", "temperature"]}]}},
    ],
)
def test_a_refusal_without_an_error_object_is_learnt_from(body: dict[str, Any]) -> None:
    """A message or details at the top of a body count, as vLLM, Mistral and FastAPI have them."""

    def refused(_number: int, asked: EndpointRequest) -> Fault | None:
        return raw(json.dumps(body), code=422) if "temperature" in asked.body else None

    with Endpoint(lambda asked: STOP, refused) as server:
        assert ["temperature" in sent for sent in _twice(server)] == [True, False, False]


def test_an_upstream_is_no_stream() -> None:
    """A proxy's message about its upstream is not taken for one about streams."""
    said = "upstream error: temperature is not supported"
    learnt = Capabilities().after_refusal(400, said)
    assert learnt == Capabilities(temperature=False)


def test_a_server_of_the_other_protocol_is_found() -> None:
    """The responses protocol is used where there are no chat completions."""

    def missing(_number: int, asked: EndpointRequest) -> Fault | None:
        return raw("404 page not found", code=404) if "chat" in asked.path else None

    with Endpoint(lambda asked: STOP, missing) as server:
        sent = _twice(server, reasoning_effort="low")
        assert [asked.path for asked in server.requests] == [
            "/v1/chat/completions",
            "/v1/responses",
            "/v1/responses",
        ]
    assert sent[1]["input"][0] == {"role": "system", "content": "You watch."}
    assert sent[1]["max_output_tokens"] == 50 + 8_192  # who sets an effort wants thoughts
    assert sent[1]["reasoning"] == {"effort": "low"}
    assert sent[1]["text"]["format"]["schema"]["required"] == ["stop"]


def test_without_a_system_role_the_user_says_it() -> None:
    """Without system messages, instructions start the first message, and roles still alternate."""
    with Endpoint(lambda asked: STOP, _refusing('"system"', "System role not supported")) as server:
        sent = _twice(server)
    assert sent[1]["messages"] == [{"role": "user", "content": "You watch.\n\nIs it stuck?"}]


def test_a_schema_that_is_taken_and_ignored_is_found_out() -> None:
    """A server that ignores the schema gets the format in words from then on; one reply is lost."""

    def answer(asked: EndpointRequest) -> str:
        return "Certainly, it looks stuck!" if asked.wanted else f"Well. {STOP}"

    with Endpoint(answer) as server:
        sent = _twice(server)
    assert ["response_format" in body for body in sent] == [True, False, False]
    assert '"stop": true or false' in sent[1]["messages"][-1]["content"]


def test_a_model_that_thinks_is_given_room_for_it() -> None:
    """Reasoning tokens are counted, and a reasoning model gets them beside its reply."""
    details = {"reasoning_tokens": 30}
    counted = {"prompt_tokens": 40, "completion_tokens": 40, "completion_tokens_details": details}
    thinking = lambda number, asked: changed(usage=counted)  # noqa: E731
    request = request_for(PROMPT, Verdict)
    with Endpoint(lambda asked: STOP, thinking) as server:
        model = _model(server, context_tokens=100_000)
        replies = [model.complete(request) for _ in range(2)]
        assert [asked.body["max_tokens"] for asked in server.requests] == [50, 50 + 8_192]
        known = OpenAIModel("gpt-5-mini", base_url=server.url, api_key=None, settings=model.settings)
        assert known.bound(request).completion_tokens == 50 + 8_192
        told = _model(server, context_tokens=100_000, reasoning_tokens=100, max_tokens=120)
        told.complete(request)
        told.complete(request)
        assert [asked.body["max_tokens"] for asked in server.requests[2:]] == [220, 220]
    assert replies[0].usage.reasoning_tokens == 30
    assert replies[0].exact


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    "fault",
    [
        changed(reasoning_content="Let me see."),
        changed(content="<think>\nLet me s", finish_reason="length"),
    ],
)
def test_a_local_model_that_thinks_is_known_by_its_thoughts(fault: Fault, stream: bool) -> None:
    """Uncounted reasoning is recognised beside or in the text; reasoning_tokens of 0 adds none."""
    request = request_for(PROMPT, Verdict)
    for told, limits in ((None, [50, 50 + 8_192]), (0, [50, 50])):
        with Endpoint(lambda asked: STOP, [fault]) as server:
            model = _model(server, context_tokens=100_000, stream=stream, reasoning_tokens=told)
            for _ in range(2):
                model.complete(request)
            assert [asked.body["max_tokens"] for asked in server.requests] == limits
            assert model.capabilities.reasoning


def test_a_reply_that_cannot_be_limited_may_fill_the_context() -> None:
    """Without a token limit of replies, reservations and counts go up to the context window."""

    def refused(_number: int, asked: EndpointRequest) -> Fault | None:
        known = {"max_tokens", "max_completion_tokens"} & set(asked.body)
        if known:
            return status(400, f"Unknown parameter: {known.pop()}")
        return changed(usage={"prompt_tokens": 40, "completion_tokens": 700})

    request = request_for(PROMPT, Verdict)
    with Endpoint(lambda asked: STOP, refused) as server:
        model = _model(server, context_tokens=4_000)
        model.complete(request)
        bound = model.bound(request)
        reply = model.complete(request.within(bound))
    assert bound.completion_tokens == 4_000
    assert reply.exact
    assert reply.usage.completion_tokens == 700
    assert bound.prompt_tokens > 40


def test_what_is_learnt_after_a_call_is_paid_for_makes_it_no_dearer() -> None:
    """A call keeps its reserved bound when its model turns out to be a reasoning model meanwhile."""
    counted = {"prompt_tokens": 40, "completion_tokens": 40}
    counted |= {"completion_tokens_details": {"reasoning_tokens": 30}}  # type: ignore[dict-item]
    request = request_for(PROMPT, Verdict)
    with Endpoint(lambda asked: STOP, [changed(usage=counted)]) as server:
        model = _model(server, context_tokens=100_000)
        bound = model.bound(request)
        model.complete(request)
        assert model.bound(request).completion_tokens > bound.completion_tokens
        held = request.within(bound)
        model.complete(held)
        assert server.requests[-1].body["max_tokens"] == bound.completion_tokens
        assert model.bound(held) == bound
        assert held.fingerprint() == request.fingerprint()


def test_thoughts_are_no_part_of_a_reply() -> None:
    """Reasoning in <think> tags before a reply is dropped."""
    thought = "<think>\nMaybe ```python\nx = 1\n```?\n</think>\n```python\n# goal: fit\ny = 2\n```"
    with Endpoint(lambda asked: thought) as server:
        assert ask(_model(server), PROMPT, Step).value == Step(goal="fit", code="y = 2")


def test_a_long_conversation_is_cut_to_the_context() -> None:
    """A conversation beyond a small context window is sent without its middle."""
    steps = [
        Message(role=role, content=f"{role} {number} " + "words and more " * 60)
        for number in range(20)
        for role in ("assistant", "user")
    ]
    prompt = PROMPT.model_copy(update={"messages": (*PROMPT.messages, *steps)})
    with Endpoint(lambda asked: STOP) as server:
        ask(_model(server, context_tokens=2048), prompt, Verdict)
        contents = [str(message["content"]) for message in server.requests[0].messages]
        assert server.counted.prompt_tokens < 2048 - 50
    assert contents[0] == "You watch."
    assert contents[1].startswith("Is it stuck?\n\n(Earlier steps are left out here.)")
    assert contents[-1].startswith("user 19")


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 1000 tokens. However, you requested 9000 tokens",
        "the request exceeds the available context size, try increasing it",
    ],
)
def test_a_context_smaller_than_thought_is_learnt(message: str) -> None:
    """A conversation refused as too long is truncated further, at last with an error."""
    long = Message(role="user", content="words and more\n" * 900)
    prompt = PROMPT.model_copy(update={"messages": (*PROMPT.messages, long)})

    def too_long(limit: int) -> Any:
        return lambda _n, asked: status(400, message) if len(asked.text) > limit else None

    with Endpoint(lambda asked: STOP, too_long(6_000)) as server:
        assert ask(_model(server), prompt, Verdict).value.stop
        assert len(server.requests) <= 3
    with Endpoint(lambda asked: STOP, too_long(0)) as server, pytest.raises(ContextError):
        _model(server).complete(request_for(prompt, Verdict))


def _one(fault: Fault | EndpointResponse | None, **settings: Any) -> Any:
    """Send one request to an endpoint with one fault."""
    with Endpoint(lambda asked: STOP, [fault]) as server:
        model = _model(server, **settings)
        request = request_for(PROMPT, Verdict)
        return model.complete(request), model.bound(request)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": "many", "completion_tokens": 3},
        {"prompt_tokens": 20, "completion_tokens": -1},
        {"prompt_tokens": 20, "completion_tokens": 5_000_000},
        {"prompt_tokens": 20, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 21}},
        {"prompt_tokens": 10**9, "completion_tokens": 5},
    ],
)
def test_a_count_that_cannot_be_true_is_booked_at_the_bound(usage: Any) -> None:
    """Missing, negative, contradictory or implausible counts are replaced by the upper bound."""
    reply, bound = _one(changed(usage=usage))
    assert not reply.exact
    assert reply.usage == bound.model_copy(update={"prompt_tokens": reply.usage.prompt_tokens})
    assert reply.usage.prompt_tokens <= bound.prompt_tokens


@pytest.mark.parametrize(
    ("fault", "message", "billed"),
    [
        (status(500), "failed: 500", False),
        (status(503), "failed: 503", False),
        (status(429), "failed: 429", False),
        (status(504), "failed: 504", True),
        (raw("<html><h1>Bad</h1></html>", content_type="text/html"), "text/html\\) is not JSON", True),
        (raw('{"choices": [', content_type="application/json"), "is not JSON", True),
        (raw("[1, 2]"), "not a JSON object", True),
        (raw('{"choices": 3}'), "no choices", True),
        (changed(choices=[]), "no choices", True),
        (raw('{"error": {"message": "overloaded"}}'), "is an error: overloaded", True),
    ],
)
def test_errors_of_an_endpoint_that_may_be_retried(fault: Fault, message: str, billed: bool) -> None:
    """Each is a ModelBusyError with `billed` set where the call may be charged."""
    with pytest.raises(ModelBusyError, match=message) as caught:
        _one(fault)
    assert caught.value.billed is billed


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (status(401, "bad key sk-secret"), "refuses the key"),
        (status(402), "the quota is spent"),
        (
            status(429, "You exceeded your current quota", code="insufficient_quota"),
            "the quota is spent",
        ),
        (status(404, "The model `x` does not exist"), "is not known there"),
        (status(400, "something else"), "failed: 400 something else"),
    ],
)
def test_what_will_not_get_better(fault: Fault, message: str) -> None:
    """Each is a refusal at the first request, in one line without the key."""
    with pytest.raises(ModelRefusedError, match=message) as caught:
        _one(fault)
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize(
    "fault",
    [
        status(400, "The response was filtered due to the content management policy."),
        status(400, "rejected by the safety system", code="content_policy_violation"),
        status(403, "Your chosen model requires moderation and your input was flagged"),
    ],
)
def test_a_prompt_that_is_forbidden_is_no_fault_of_the_endpoint(fault: Fault) -> None:
    """A prompt that rules on content forbid ends its work alone."""
    with pytest.raises(ReplyError, match="refuses the content of the prompt"):
        _one(fault)


def test_a_request_that_is_too_large_is_truncated() -> None:
    """Whatever limits the size of requests, the conversation is truncated as for a context window."""
    _one(status(413, "Request Entity Too Large"))


def test_a_key_that_a_server_quotes_is_not_told() -> None:
    """An API key that a server quotes is redacted from the message."""
    with Endpoint(lambda asked: STOP, [status(400, "no rights for sk-secret here")]) as server:
        model = OpenAIModel("test-model", base_url=server.url, api_key="sk-secret")
        with pytest.raises(ModelRefusedError, match=r"no rights for \(the key\) here"):
            model.complete(request_for(PROMPT, Verdict))


def test_retry_after_is_seconds_or_a_date() -> None:
    """Retry-After may be seconds or a date."""
    with pytest.raises(ModelBusyError) as caught:
        _one(status(429, retry_after=2.5))
    assert caught.value.retry_after == 2.5


def test_a_form_that_stands_is_the_same_in_every_request() -> None:
    """The usual reply format follows the task; an exceptional one is the last message."""
    with Endpoint(
        lambda asked: "```python\n# goal: fit\nx = 1\n```" if not asked.wanted else STOP
    ) as server:
        model = _model(server)
        for length in (2, 4):
            steps = (Message(role="assistant", content="a"), Message(role="user", content="b"))
            messages = (*PROMPT.messages, *(steps * length))
            ask(model, PROMPT.model_copy(update={"messages": messages}), Step)
        schema = request_for(PROMPT, Step).reply_schema
        ask(model, PROMPT.model_copy(update={"messages": messages, "standing": schema}), Verdict)
        first = [asked.messages[:3] for asked in server.requests]
        last = [asked.messages[-1]["content"] for asked in server.requests]
    assert first[0] == first[1] == first[2]
    assert "```python" in first[0][1]["content"]
    assert last == ["b", "b", "b"]


def test_a_request_without_a_role_of_its_own_is_sent() -> None:
    """A bound holds for any capabilities."""
    request = ModelRequest(
        role="x",
        messages=(Message(role="user", content="é" * 100),),
        reply_name="Verdict",
        reply_schema=Verdict.model_json_schema(),
    )
    model = OpenAIModel("m", base_url="http://127.0.0.1:9/v1", api_key=None)
    assert model.bound(request).prompt_tokens > 200
