"""Probe the capabilities of an endpoint with two small calls, for `comind doctor --model`."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, Field

from comind.domain.image import Image
from comind.errors import ComindError, ModelServiceError
from comind.llm.capabilities import Capabilities
from comind.llm.exchange import parse, request_for
from comind.llm.images import encode_image
from comind.llm.model_ports import Message, ModelReply, ModelRequest
from comind.llm.openai_model import OpenAIModel

T = TypeVar("T", bound=BaseModel)

_NUMBER = 17
_RULES = Message(role="system", content="You answer questions of a test. Be brief.")


class _ProbeResult(NamedTuple):
    name: str
    ok: bool
    found: str


class Decision(BaseModel):
    """A small structured reply."""

    number: int
    even: bool = Field(description="true if the number is even")


class Program(BaseModel):
    """A reply with a program."""

    goal: str = Field(default="", description="what it is for, in one line")
    code: str = Field(default="", json_schema_extra={"format": "python"})


def probe(model: OpenAIModel) -> list[_ProbeResult]:
    """Request a decision and a program; return the results and the capabilities learnt from them.

    The question of the decision comes with an empty picture, where images may be sent.

    Raises:
        ModelServiceError: the endpoint is unreachable or refuses.
    """
    images = (_empty_picture(),) if model.takes_images else ()
    asked = Message(role="user", content=f"Is {_NUMBER} even?", images=images)
    decision = _ask(model, Decision, asked, lambda reply: reply.number == _NUMBER)
    asked = Message(role="user", content=f"Write a program of one line that prints {_NUMBER}.")
    program = _ask(model, Program, asked, lambda reply: str(_NUMBER) in reply.code)
    shown = "accepted" if model.takes_images else "refused; left out" if images else "not sent"
    return [decision, program, *_capabilities(model.capabilities, images=shown)]


def _empty_picture() -> Image:
    from PIL import Image as Pillow

    return encode_image(Pillow.new("L", (64, 64)), "An empty picture, which has nothing to do with it.")


def _ask(
    model: OpenAIModel, reply_type: type[T], question: Message, right: Callable[[T], bool]
) -> _ProbeResult:
    name = reply_type.__name__.lower()
    messages = (_RULES, question)
    prompt = ModelRequest(role="doctor", messages=messages, max_tokens=400, temperature=0.0)
    request = request_for(prompt, reply_type)
    try:
        reply, value = _complete(model, request, reply_type)
    except ModelServiceError:
        raise
    except ComindError as error:
        return _ProbeResult(name, ok=False, found=f"no usable reply: {error}")
    verdict = "right" if right(value) else "well-formed, but wrong"
    usage = reply.usage
    counts = f"{usage.prompt_tokens} + {usage.completion_tokens} tokens"
    if usage.reasoning_tokens:
        counts += f" ({usage.reasoning_tokens} of them reasoning)"
    if not reply.exact:
        counts = "implausible token counts, so calls are charged their upper bound"
    return _ProbeResult(name, ok=True, found=f"{verdict}, {reply.seconds:.1f} s, {counts}")


def _complete(model: OpenAIModel, request: ModelRequest, reply_type: type[T]) -> tuple[ModelReply, T]:
    """Return a valid reply; retry an invalid one from which the model learnt a capability."""
    before = model.capabilities
    reply = model.complete(request)
    try:
        return reply, parse(reply, reply_type)
    except ComindError:
        if model.capabilities == before:
            raise
    reply = model.complete(request)
    return reply, parse(reply, reply_type)


def _capabilities(capabilities: Capabilities, *, images: str) -> list[_ProbeResult]:
    limit: str = capabilities.limit_parameter
    if capabilities.protocol == "responses":
        limit = "max_output_tokens"
    structured = "by JSON schema" if capabilities.structured else "in words; schemas are refused"
    if capabilities.structured and not capabilities.strict:
        structured += ", not strict"
    found = {
        "protocol": capabilities.protocol,
        "streaming": "yes" if capabilities.stream else "no",
        "decisions": structured,
        "programs": "as a block of Python",
        "system role": "yes" if capabilities.system else "no; sent as the user's",
        "temperature": "yes" if capabilities.temperature else "no",
        "reasoning": "yes; its replies get tokens for it" if capabilities.reasoning else "none seen",
        "token limit": "cannot be set" if limit == "none" else limit,
        "images": images,
    }
    return [_ProbeResult(name, ok=True, found=each) for name, each in found.items()]
