"""What an endpoint understands, found out on the path that production uses."""

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

from pydantic import BaseModel, Field

from comind.errors import ComindError, ModelServiceError
from comind.llm.base import ChatModel, Message, ModelReply, ModelRequest
from comind.llm.capabilities import Capabilities
from comind.llm.exchange import Prompt, parse, request_for

__all__ = ["Finding", "Speaker", "probe"]

T = TypeVar("T", bound=BaseModel)

_NUMBER = 17
_RULES = Message(role="system", content="You answer questions of a test. Be brief.")


class Speaker(ChatModel, Protocol):
    """A model that knows what its server understands."""

    capabilities: Capabilities


class Finding(NamedTuple):
    """One thing that was tried."""

    name: str
    ok: bool
    found: str


class Decision(BaseModel):
    """A reply of the kind that roles give."""

    number: int
    even: bool = Field(description="true if the number is even")


class Program(BaseModel):
    """A reply of the kind that the Coding Agent gives."""

    goal: str = Field(default="", description="what it is for, in one line")
    code: str = Field(default="", json_schema_extra={"format": "python"})


def probe(model: Speaker) -> list[Finding]:
    """Ask for a decision and for a program, and say what the server turned out to understand.

    What is refused is learnt by the model as in any campaign; the calls are as small as can be.

    Raises:
        ModelServiceError: the endpoint is unreachable or refuses.
    """
    decision = _ask(model, Decision, f"Is {_NUMBER} even?", lambda said: said.number == _NUMBER)
    wanted = f"Write a program of one line that prints {_NUMBER}."
    program = _ask(model, Program, wanted, lambda said: str(_NUMBER) in said.code)
    return [decision, program, *_capabilities(model.capabilities)]


def _ask(model: Speaker, reply_type: type[T], question: str, right: Callable[[T], bool]) -> Finding:
    name = reply_type.__name__.lower()
    messages = (_RULES, Message(role="user", content=question))
    prompt = Prompt(role="doctor", messages=messages, max_tokens=400, temperature=0.0)
    request = request_for(prompt, reply_type)
    try:
        reply = _twice(model, request, reply_type)
        value = parse(reply, reply_type)
    except ModelServiceError:
        raise
    except ComindError as error:
        return Finding(name, ok=False, found=f"no usable reply: {error}")
    said = "right" if right(value) else "of the right form, and wrong"
    usage = reply.usage
    counts = f"{usage.prompt_tokens} + {usage.completion_tokens} tokens"
    if usage.reasoning_tokens:
        counts += f" ({usage.reasoning_tokens} of them thought)"
    if not reply.exact:
        counts = "no count of tokens that can be true, so calls are booked at their bound"
    return Finding(name, ok=True, found=f"{said}, {reply.seconds:.1f} s, {counts}")


def _twice(model: Speaker, request: ModelRequest, reply_type: type[BaseModel]) -> ModelReply:
    """Return a reply; once more where the first one taught how the server is to be asked."""
    before = model.capabilities
    reply = model.complete(request)
    try:
        parse(reply, reply_type)
    except ComindError:
        if model.capabilities == before:
            raise
        return model.complete(request)
    return reply


def _capabilities(capabilities: Capabilities) -> list[Finding]:
    limit = "max_output_tokens" if capabilities.protocol == "responses" else capabilities.limit
    thinks = "yes; its replies are given room for that" if capabilities.thinks else "no sign of it"
    structured = (
        "by JSON schema" if capabilities.structured else "in words; schemas are refused or ignored"
    )
    if capabilities.structured and not capabilities.strict:
        structured += ", not strict"
    return [
        Finding("protocol", ok=True, found=capabilities.protocol),
        Finding("replies", ok=True, found="piece by piece" if capabilities.stream else "at once"),
        Finding("decisions", ok=True, found=structured),
        Finding("programs", ok=True, found="as a block of Python"),
        Finding("system role", ok=True, found="yes" if capabilities.system else "no; said by the user"),
        Finding("temperature", ok=True, found="yes" if capabilities.temperature else "no"),
        Finding("thinks first", ok=True, found=thinks),
        Finding("longest reply", ok=True, found="cannot be limited" if limit == "none" else limit),
    ]
