"""Token limits of replies and context windows: by role, from settings, learnt from servers."""

from typing import Any

import pytest

from comind.errors import ReplyError
from comind.llm.context_window import is_reasoning_model
from comind.llm.exchange import ask, request_for
from comind.llm.http_errors import error_of
from comind.llm.model_ports import Message, ModelRequest
from comind.llm.openai_model import OpenAIModel
from comind.llm.settings import ASSUMED_CONTEXT, ModelSettings
from tests.doubles.endpoint import Endpoint
from tests.doubles.faults import changed, status
from tests.unit.llm.samples import Verdict

_STOP = '{"stop": true}'
_PROMPT = ModelRequest(
    role="coder", messages=(Message(role="user", content="Is it stuck?"),), max_tokens=1_000
)
_CUT = changed(finish_reason="length", content='{"st')


def _model(server: Endpoint, **settings: Any) -> OpenAIModel:
    found = ModelSettings(**{"context_tokens": 100_000} | settings)
    return OpenAIModel("test-model", base_url=server.url, api_key=None, settings=found)


def _limits(server: Endpoint) -> list[int]:
    """Return the token limits that were sent."""
    return [asked.body["max_tokens"] for asked in server.requests]


def test_a_truncated_reply_is_retried_with_twice_the_token_limit() -> None:
    """A truncated reply is retried with the same conversation and a higher limit."""
    with Endpoint(lambda asked: _STOP, [_CUT, _CUT]) as server:
        assert ask(_model(server), _PROMPT, Verdict).value.stop
    assert _limits(server) == [1_000, 2_000, 4_000]
    assert len({asked.text for asked in server.requests}) == 1


def test_a_reply_truncated_at_the_third_limit_is_sent_back_with_it() -> None:
    """A reply truncated at the third limit is sent back with the limit, three times in all."""
    with Endpoint(lambda asked: _STOP, [_CUT] * 5) as server:
        with pytest.raises(ReplyError, match="cut off at 4000 tokens"):
            ask(_model(server), _PROMPT, Verdict)
        assert _limits(server) == [1_000, 2_000, 4_000, 4_000, 4_000]
    assert (
        "cut off at 4000 tokens, and this limit cannot be raised; be shorter" in server.requests[3].text
    )


def test_no_retry_exceeds_the_share_of_a_small_context_window() -> None:
    """Where the context window allows no more, the limit is sent back without a retry."""
    with Endpoint(lambda asked: _STOP, [_CUT, _CUT]) as server:
        assert ask(_model(server, context_tokens=4_096), _PROMPT, Verdict).value.stop
    assert _limits(server) == [1_000, 1_638, 1_638]
    assert "cut off at 1638 tokens" in server.requests[2].text


@pytest.mark.parametrize("told", [300, 3_000])
def test_a_users_limit_replaces_what_is_asked_for(told: int) -> None:
    """A limit in the settings may be higher or lower; it is not raised, and named to the model."""
    with Endpoint(lambda asked: _STOP, [_CUT]) as server:
        model = _model(server, max_tokens=told)
        assert model.reply_tokens == told
        assert ask(model, _PROMPT, Verdict).value.stop
    assert _limits(server) == [told, told]
    assert f"cut off at {told} tokens" in server.requests[1].text


def test_a_truncated_reply_with_reasoning_is_retried_with_tokens_for_both() -> None:
    """A model that turns out to reason gets tokens for it at the retry, and the sum is doubled."""
    fault = changed(finish_reason="length", content="", reasoning_content="Let me see")
    with Endpoint(lambda asked: _STOP, [fault]) as server:
        assert ask(_model(server), _PROMPT, Verdict).value.stop
    assert _limits(server) == [1_000, 2 * (1_000 + 8_192)]


def test_a_long_program_fits_at_128k() -> None:
    """The share of the context allows 16,384 tokens of a reply, and as many with reasoning."""
    with Endpoint(lambda asked: _STOP) as server:
        wanted = request_for(_PROMPT.model_copy(update={"max_tokens": 16_384}), Verdict)
        _model(server, context_tokens=128_000).complete(wanted)
        _model(server, context_tokens=128_000, reasoning_effort="high").complete(wanted)
    assert _limits(server) == [16_384, 16_384 + 8_192]


def test_only_a_raise_changes_a_fingerprint() -> None:
    """Fingerprints of older logs match; a request with a higher limit has another one."""
    messages = (Message(role="user", content="Go on."),)
    request = ModelRequest(role="coder", messages=messages, reply_name="Verdict", reply_schema={})
    older = "d4dfdb0e17e3e451d29cf3b82fe95c14aa4aad6e7164dcde240bfa6b606766ba"
    assert request.fingerprint() == older
    raised = {request.model_copy(update={"raises": times}).fingerprint() for times in range(3)}
    assert len(raised) == 3


@pytest.mark.parametrize(
    ("name", "thinks"),
    [
        ("o4-mini", True), ("openai/o3", True), ("gpt-5-mini", True), ("openai/gpt-5.1", True),
        ("openai/gpt-oss-120b", True), ("gpt-5-chat-latest", False), ("gpt-4o", False),
        ("deepseek-reasoner", True), ("deepseek-ai/DeepSeek-R1-0528", True), ("deepseek-chat", False),
        ("gemini-2.5-flash", True), ("google/gemini-3-pro-preview", True), ("gemini-2.0-flash", False),
        ("claude-sonnet-4-5", False), ("anthropic/claude-3.7-sonnet:thinking", True),
        ("qwen3:8b", True), ("Qwen/Qwen3-32B", True), ("Qwen/QwQ-32B", True),
        ("Qwen/Qwen3-30B-A3B-Thinking-2507", True), ("Qwen/Qwen3-30B-A3B-Instruct-2507", False),
        ("qwen3-coder:30b", False), ("qwen2.5-coder:1.5b", False), ("llama-3.3-70b", False),
        ("magistral-medium-latest", True), ("mistral-large", False), ("grok-4", True),
        ("grok-4-fast-non-reasoning", False), ("phi4-reasoning", True),
        ("moonshotai/kimi-k2-thinking", True), ("moonshotai/kimi-k2", False),
        ("zai-org/glm-4.6", True), ("test-model", False),
    ],
)  # fmt: skip
def test_models_that_think_are_known_by_name(name: str, thinks: bool) -> None:
    """Reasoning models are recognised by the names of any provider."""
    assert is_reasoning_model(name, None) is thinks
    assert is_reasoning_model(name, "low")
    assert not is_reasoning_model(name, "none")


_LONG = ModelRequest(
    role="coder", messages=(Message(role="user", content="words and more\n" * 9_000),), max_tokens=1_000
)


def _reading(tokens: int, message: str) -> Any:
    """Refuse conversations beyond the context window."""

    def fault(_number: int, asked: Any) -> Any:
        size = len(asked.text) // 5 + asked.body["max_tokens"]
        return status(400, message) if size > tokens else None

    return fault


def test_a_context_that_is_named_is_learnt_for_all_later_requests() -> None:
    """The first refusal that names the limit corrects the assumed one; no later request is refused."""
    message = "This model's maximum context length is 6000 tokens. However, you requested 40000 tokens"
    with Endpoint(lambda asked: _STOP, _reading(6_000, message)) as server:
        model = _model(server, context_tokens=None)
        assert model.context_tokens == ASSUMED_CONTEXT
        assert ask(model, _LONG, Verdict).value.stop
        assert model.context_tokens == 6_000
        ask(model, _LONG, Verdict)
        assert len(server.requests) == 3
        assert model.bound(request_for(_LONG.model_copy(update={"max_tokens": 9_000}), Verdict))
    assert _limits(server)[-1] == 1_000


def test_a_context_that_is_only_implied_is_learnt_where_it_was_assumed() -> None:
    """A refusal without a number lowers an assumed context window, but not a configured one."""
    message = "the request exceeds the available context size, try increasing it"
    for told, learnt in ((None, True), (ASSUMED_CONTEXT, False)):
        with Endpoint(lambda asked: _STOP, _reading(18_000, message)) as server:
            model = _model(server, context_tokens=told)
            for _ in range(2):
                ask(model, _LONG, Verdict)
            assert (model.context_tokens < ASSUMED_CONTEXT) is learnt
            assert len(server.requests) == (3 if learnt else 4)


@pytest.mark.parametrize(
    ("said", "limit"),
    [
        ("This model's maximum context length is 8192 tokens. However, your messages", 8_192),
        ("exceeds the available context size', 'n_prompt_tokens': 9000, 'n_ctx': 4096", 4_096),
        ("The input (9000 tokens) is longer than the model's context length (8192 tokens).", 8_192),
        ("prompt is too long: 210000 tokens > 200000 maximum", 200_000),
        ("This model's maximum prompt length is 131072 but the request contains 200000", 131_072),
        ("Input token count (1200000) exceeds the maximum number of tokens allowed (104857).", 104_857),
        ("Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32_768),
        ("`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000", 4_096),
        ("Please reduce the length of the messages or completion.", None),
    ],
)  # fmt: skip
def test_refusals_that_name_a_context_are_understood(said: str, limit: int | None) -> None:
    """The context window is found in the messages of many servers."""
    error = error_of("the model", 400, {}, said)
    assert getattr(error, "limit", "another error") == limit


@pytest.mark.parametrize(
    "said",
    [
        "max_tokens is too large: 9000. This model supports at most 4096 completion tokens",
        "max_tokens: 9000 > 4096, which is the maximum allowed number of output tokens for the model",
        "Invalid max_tokens value, the valid range of max_tokens is [1, 4096]",
        "`max_tokens` must be less than or equal to `4096`, the maximum value for this model",
        "a maxOutputTokens value of 9000; the range is from 1 (inclusive) to 4097 (exclusive).",
    ],
)
def test_the_longest_reply_of_a_server_is_learnt(said: str) -> None:
    """After a server refused a token limit, the one that it named is used."""

    def fault(_number: int, asked: Any) -> Any:
        return status(400, said) if asked.body["max_tokens"] > 4_096 else None

    with Endpoint(lambda asked: _STOP, fault) as server:
        model = _model(server)
        for _ in range(2):
            ask(model, _PROMPT.model_copy(update={"max_tokens": 9_000}), Verdict)
    assert _limits(server) == [9_000, 4_096, 4_096]
