"""Render an agent's prompts, whose parts have token limits, and ask for a typed reply."""

from collections.abc import Mapping
from typing import TypedDict, TypeVar, Unpack

from pydantic import BaseModel

from comind.campaign.work.context import ThinkContext
from comind.llm.model_ports import Message, ModelRequest
from comind.llm.templates import Templates
from comind.llm.tokens import token_shares

T = TypeVar("T", bound=BaseModel)

PLATFORM = "comind.campaign"
"""Package of the prompt parts that all agents include: facts of competition, data, hand-in, machine."""
LARGE_CONTEXT = 16_384
"""Tokens from which a model is told of optional files, such as out-of-fold predictions."""
_LONG_CONTEXT = 131_072  # tokens, at which a text for later prompts reaches its maximum size


class RequestOptions(TypedDict, total=False):
    """Options of a request."""

    most_tokens: int
    """Of the reply; at most the limit of the part `reply`, which is the default."""
    temperature: float
    """Default: the role's."""
    closing: bool
    """Whether it may use the budget that is reserved for the end of work."""


class Prompts(Templates):
    """The templates of an agent: `system`, and one for each request."""

    def __init__(self, package: str, shares: Mapping[str, tuple[float, int]]) -> None:
        """Read the templates.

        Args:
            package: has the folder `prompts/`.
            shares: share of the context window and maximum in tokens of each part of a prompt, `reply`
                among them. A template gets the limits as `room`.
        """
        super().__init__(package, PLATFORM)
        self._shares = shares

    def limits(self, context_tokens: int = _LONG_CONTEXT) -> dict[str, int]:
        """Return the maximum tokens of each part, by default for a text that later prompts truncate."""
        return token_shares(self._shares, context_tokens)

    def ask(
        self,
        context: ThinkContext,
        role: str,
        template: str,
        reply_type: type[T],
        facts: Mapping[str, object],
        **options: Unpack[RequestOptions],
    ) -> T:
        """Render a template with `facts` and return the reply.

        Args:
            context: of the work.
            role: whose model is asked.
            template: the prompt.
            reply_type: of the reply.
            facts: values of both templates, with `problem`, beside `room`, `large`, `resources` and
                `measured`.
            options: of the request.

        Raises:
            ReplyError: three replies in a row did not match the schema.
        """
        room, large = self.limits(context.context_tokens), context.context_tokens >= LARGE_CONTEXT
        given = {"resources": context.resources, "measured": context.measured}
        facts = {"room": room, "large": large, **given, **facts}
        request = ModelRequest(
            role=role,
            messages=(
                Message(role="system", content=self.render("system", **facts)),
                Message(role="user", content=self.render(template, **facts)),
            ),
            max_tokens=min(options.get("most_tokens", room["reply"]), room["reply"]),
            temperature=options.get("temperature"),
            closing=options.get("closing", False),
        )
        return context.ask(request, reply_type).value
