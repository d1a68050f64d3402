"""The OpenAI client against a real server on the loopback."""

import json

import pytest
from pydantic import BaseModel

from comind.errors import ModelBusyError, ModelServiceError, ReplyError
from comind.llm.connection import listed_models
from comind.llm.exchange import ask, request_for
from comind.llm.model_ports import Message, ModelRequest
from comind.llm.openai_model import OpenAIModel
from comind.llm.settings import ModelSettings
from tests.doubles.endpoint import Endpoint, EndpointRequest
from tests.doubles.faults import Fault, changed, dripping, raw, silent, status
from tests.unit.llm.samples import Step


class Verdict(BaseModel):
    stop: bool


PROMPT = ModelRequest(
    role="monitor",
    messages=(Message(role="user", content="Is it stuck?"),),
    max_tokens=50,
    temperature=0.2,
)


def _model(url: str, name: str = "local") -> OpenAIModel:
    return OpenAIModel(name, base_url=url, api_key=None)


def test_a_decision_is_asked_for_by_schema() -> None:
    """With a JSON schema the reply is one object of that schema."""
    with Endpoint(lambda _asked: '{"stop": true}') as server:
        assert ask(_model(server.url), PROMPT, Verdict).value == Verdict(stop=True)
    body = server.requests[0].body
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["stop"]
    assert body["temperature"] == 0.2
    assert body["max_tokens"] == 50


@pytest.mark.parametrize("fault", [silent(), dripping()], ids=["silent", "dripping"])
def test_a_request_may_have_a_timeout_of_its_own(fault: Fault) -> None:
    """The timeout of a request holds below those of the settings."""
    with Endpoint(lambda asked: "{}", [fault]) as server:
        model, request = _model(server.url), request_for(PROMPT, Verdict)
        with pytest.raises(ModelBusyError, match="timeout before the end of the response"):
            model.complete(request.model_copy(update={"timeout_seconds": 0.3}))


@pytest.mark.parametrize(
    "fault", [silent(), silent(0.5), dripping()], ids=["silent", "half", "dripping"]
)
def test_a_call_ends_at_the_timeout_of_the_settings(fault: Fault) -> None:
    """The timeout of a whole call counts from its request, whenever the response begins."""
    with Endpoint(lambda asked: "{}", [fault]) as server:
        settings = ModelSettings(call_seconds=0.3)
        model = OpenAIModel("local", base_url=server.url, api_key=None, settings=settings)
        with pytest.raises(ModelBusyError, match="timeout before the end of the response"):
            model.complete(request_for(PROMPT, Verdict))


def test_a_server_without_schemas_is_asked_in_text() -> None:
    """A server that refuses the schema gets the text format, at once and from then on."""

    def refused(_number: int, asked: EndpointRequest) -> Fault | None:
        return status(400, "response_format is not supported") if asked.wanted else None

    with Endpoint(lambda _asked: 'Certainly. {"stop": false}', refused) as server:
        model = _model(server.url)
        assert ask(model, PROMPT, Verdict).value == Verdict(stop=False)
        assert ask(model, PROMPT, Verdict).value == Verdict(stop=False)
    assert ["response_format" in asked.body for asked in server.requests] == [True, False, False]
    assert '"stop": true or false' in server.requests[1].messages[-1]["content"]


def test_a_program_is_asked_for_as_a_block() -> None:
    """A reply with code uses the text format even where schemas work."""
    text = '```python\n# goal: fit\nprint("done")\n```'
    with Endpoint(lambda _asked: text) as server:
        assert ask(_model(server.url), PROMPT, Step).value == Step(goal="fit", code='print("done")')
    assert "response_format" not in server.requests[0].body
    assert "```python" in server.requests[0].messages[-1]["content"]


def test_tokens_are_counted_and_priced() -> None:
    """Usage is the server's with its price; without counts a call is charged its upper bound."""
    counted = changed(usage={"prompt_tokens": 11, "completion_tokens": 7}, model="real-name")
    uncounted = changed(usage=None)
    with Endpoint(lambda _asked: '{"stop": true}', [counted, uncounted]) as server:
        replies = [
            _model(server.url, name).complete(request_for(PROMPT, Verdict))
            for name in ("gpt-4o-mini", "unheard-of")
        ]
    assert (replies[0].usage.prompt_tokens, replies[0].usage.completion_tokens) == (11, 7)
    assert replies[0].usage.usd > 0
    assert replies[0].model == "real-name"
    assert replies[0].exact
    assert replies[1].usage.prompt_tokens > 0
    assert replies[1].usage.completion_tokens == 50
    assert replies[1].usage.usd == 0
    assert not replies[1].exact


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (status(401, "bad key"), "refuses the key"),
        (status(404, "no such model"), "is not known there"),
        (status(400, "something else"), "failed: "),
        (raw('{"choices": []}'), "no choices"),
    ],
)
def test_a_refusing_endpoint_is_one_line(fault: Fault, message: str) -> None:
    """A refusal is a ModelServiceError in one line without the key."""
    with Endpoint(lambda _asked: "", [fault]) as server:
        model = OpenAIModel("local", base_url=server.url, api_key="sk-secret")
        with pytest.raises(ModelServiceError, match=message) as caught:
            ask(model, PROMPT, Verdict)
    assert "\n" not in str(caught.value)
    assert "sk-secret" not in str(caught.value)


def test_an_absent_endpoint_is_one_line() -> None:
    """An unreachable endpoint is named, with a hint."""
    with pytest.raises(ModelServiceError, match="cannot be reached"):
        ask(_model("http://127.0.0.1:9/v1"), PROMPT, Verdict)
    with pytest.raises(ModelServiceError, match="does not list its models"):
        listed_models("http://127.0.0.1:9/v1", None)


def test_too_long_a_conversation_is_the_replys_fault() -> None:
    """A conversation beyond the context window is a ReplyError, which ends only the work."""
    fault = status(400, "the request exceeds the available context size")
    server = Endpoint(lambda _asked: "", lambda _number, _asked: fault)
    with server, pytest.raises(ReplyError, match="longer than the model can read"):
        ask(_model(server.url), PROMPT, Verdict)


def test_the_bound_is_never_below_the_usage() -> None:
    """The upper bound covers the prompt and the longest reply."""
    request = ModelRequest(
        role="x",
        messages=(Message(role="user", content="word " * 1000),),
        reply_name="Verdict",
        reply_schema=Verdict.model_json_schema(),
        max_tokens=50,
    )
    bound = _model("http://127.0.0.1:9/v1").bound(request)
    assert bound.prompt_tokens >= 1000
    assert bound.completion_tokens == 50
    assert json.loads(request.model_dump_json())["role"] == "x"


def test_an_endpoint_names_its_listed_models() -> None:
    """The models of an endpoint are listed in order."""
    with Endpoint(lambda _asked: "", models=[{"id": "listed"}, {"id": "second"}]) as server:
        assert [each.name for each in listed_models(server.url, None)] == ["listed", "second"]


def test_what_is_in_a_url_for_its_server_alone_is_not_told() -> None:
    """A password in the endpoint's URL is in no message."""
    model = OpenAIModel("local", base_url="http://me:secret@127.0.0.1:9/v1", api_key=None)
    with pytest.raises(ModelServiceError, match=r"local at http://127\.0\.0\.1:9/v1/") as caught:
        ask(model, PROMPT, Verdict)
    assert "secret" not in str(caught.value)


def test_an_answer_without_measure_is_given_up() -> None:
    """A body above the size limit is an error."""
    flood = [raw(" " * (65 << 20))]
    with Endpoint(lambda asked: "", flood) as server, pytest.raises(ModelBusyError) as caught:
        ask(_model(server.url), PROMPT, Verdict)
    assert "longer than 64 MiB" in str(caught.value)
