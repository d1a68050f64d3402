"""Any server that speaks an OpenAI protocol: one try, in its own dialect, fitted to what it can read."""

import json
import math
import threading
import time

from comind.errors import ContextError, ModelBusyError, ModelServiceError
from comind.llm.accounts import bound_of, honest
from comind.llm.base import Message, ModelReply, ModelRequest, Usage
from comind.llm.capabilities import Capabilities
from comind.llm.connection import Answered, Connection
from comind.llm.fitting import fit, prompt_tokens
from comind.llm.form import after_thinking, keeps_to, program_fields, thinks_aloud, worded
from comind.llm.limits import Limits, known_thinker
from comind.llm.prices import priced
from comind.llm.refusals import message_in
from comind.llm.settings import ModelSettings
from comind.llm.stream import is_stream, put_together
from comind.llm.wire import Said, WireError, body_of, read_body

__all__ = ["OpenAIModel"]

_LEARNING = 9  # refusals that one request may teach; a server has fewer abilities than that
_CUTS = (0.75, 0.5)  # of what was sent, when a server finds it too long
_MARGIN = 0.9  # our counts of tokens are near, not exact
_TEACHING = (400, 404, 405, 422, 501)  # statuses of an answer that may say what is not understood
_OK = 200


class OpenAIModel:
    """A model behind an OpenAI-compatible endpoint.

    One `complete` is one try: who calls it decides on waiting and trying again. What the server does not
    understand is learnt from its refusals, which cost nothing, and left out from then on. Replies are
    asked for by JSON schema; a server that refuses the schema, or takes it and does not keep to it, is
    asked in our strict text form. A reply that holds a program always comes in the text form: inside a
    JSON string small models lose count of quotes, and a grammar then cuts the program off
    (docs/lab-notes.md).
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None,
        api_key: str | None,
        settings: ModelSettings = ModelSettings(),  # noqa: B008 - frozen
    ) -> None:
        """Prepare the client; nothing is sent yet. `name` is the model's at its endpoint."""
        self.name = name
        self.settings = settings
        self._limits = Limits(settings)
        self._connection = Connection(name, base_url=base_url, api_key=api_key, settings=settings)
        self._lock = threading.Lock()
        self.capabilities = Capabilities(
            protocol=settings.protocol or "chat",
            stream=settings.stream,
            fixed_protocol=settings.protocol is not None,
            thinks=known_thinker(name, settings.reasoning_effort),
            limit="max_tokens" if base_url else "max_completion_tokens",
        )
        """What the server has understood so far."""

    @property
    def context_tokens(self) -> int:
        """Of prompt and reply together: as its settings say, or as a refusal has taught."""
        return self._limits.context_tokens

    @property
    def reply_tokens(self) -> int | None:
        """Most tokens of a reply, if its user wants another limit than what roles ask for."""
        return self.settings.max_tokens

    def bound(self, request: ModelRequest) -> Usage:
        """Return the most that one try of `request` can cost."""
        request = self._adjusted(request)
        return self._bound(request, worded(request, structured=False))

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return the model's reply; raises what a `ChatModel` does.

        Where the conversation does not fit, however much of it is left out, that is a ContextError.
        """
        begun = time.monotonic()
        wanted, most, cuts = request, math.inf, list(_CUTS)
        for _ in range(_LEARNING + len(_CUTS)):
            request = self._adjusted(wanted)
            room = int(min(most, (self.context_tokens - request.max_tokens) * _MARGIN))
            capabilities = self.capabilities
            structured = capabilities.structured and not program_fields(request.reply_schema)
            messages = fit(worded(request, structured=structured), room)
            asked = body_of(
                self.name,
                request,
                messages,
                capabilities,
                structured=structured,
                effort=self.settings.reasoning_effort,
            )
            answer = self._connection.post(capabilities.protocol, asked, wanted.timeout_seconds)
            if answer.status == _OK:
                said = self._read(answer, capabilities)
                reply = self._reply(request, messages, capabilities, said, begun)
                return self._cut_off(wanted, request.max_tokens, reply)
            error = self._connection.error(answer)
            if isinstance(error, ContextError) and cuts:
                most = max(1, cuts.pop(0) * min(room, prompt_tokens(messages)))
                self._limits.learn_context(error.limit, int(most / _MARGIN) + request.max_tokens)
                continue
            teaches = answer.status in _TEACHING and not isinstance(error, ContextError)
            learnt = capabilities.after(answer.status, message_in(answer.text)) if teaches else None
            if learnt is None:
                raise error from None
            self._learn(capabilities, learnt)
        raise ModelServiceError(f"{self._connection.where} understands no request of ours")

    def _read(self, answer: Answered, capabilities: Capabilities) -> Said:
        """Return what a successful answer says; a completion may stand behind one that says nothing."""
        where, streamed = self._connection.where, is_stream(answer.text)
        try:
            body = (
                put_together(answer.text, capabilities.protocol) if streamed else json.loads(answer.text)
            )
            said = read_body(body, capabilities)
        except (ValueError, RecursionError):
            kind = answer.headers.get("content-type", "nothing").split(";")[0]
            raise ModelBusyError(f"{where} answers with {kind} that is no JSON") from None
        except WireError as error:
            raise ModelBusyError(f"{where}: {error}") from None
        if streamed and said.usage is None:
            self._note(stream=False)  # so that it counts again
        return said

    def _reply(
        self,
        request: ModelRequest,
        messages: tuple[Message, ...],
        capabilities: Capabilities,
        said: Said,
        begun: float,
    ) -> ModelReply:
        bound = self._bound(request, messages)
        sent = sum(len(message.content.encode()) for message in messages)
        usage = honest(said.usage, bound, sent, said.text)
        text = after_thinking(said.text)
        structured = capabilities.structured and not program_fields(request.reply_schema)
        kept = structured and keeps_to(text, request.reply_schema)
        counted = usage is not None and usage.reasoning_tokens > 0
        if said.thought or counted or thinks_aloud(said.text):
            self._note(thinks=True)
        if structured and said.finish == "stop" and not kept:
            self._note(structured=False)
        return ModelReply(
            text=text,
            form="json" if kept else "text",
            model=said.model or self.name,
            finish=said.finish,
            usage=bound if usage is None else priced(self.name, usage, self.settings.price),
            exact=usage is not None,
            seconds=round(time.monotonic() - begun, 3),
        )

    def _cut_off(self, request: ModelRequest, limit: int, reply: ModelReply) -> ModelReply:
        """Return a reply; if it was cut off, with its limit, and whether there is a higher one."""
        capabilities = self.capabilities
        if reply.finish != "length" or (
            capabilities.protocol == "chat" and capabilities.limit == "none"
        ):
            return reply
        thinks, longest = capabilities.thinks, capabilities.longest
        can_rise = self._limits.can_rise(request, limit, thinks=thinks, longest=longest)
        return reply.model_copy(update={"limit": limit, "can_rise": can_rise})

    def _learn(self, known: Capabilities, learnt: Capabilities) -> None:
        """Remember what was learnt, unless another call has learnt something meanwhile."""
        with self._lock:
            if self.capabilities == known:
                self.capabilities = learnt

    def _note(self, **abilities: bool) -> None:
        """Remember what a reply has shown."""
        with self._lock:
            self.capabilities = self.capabilities.model_copy(update=abilities)

    def _adjusted(self, request: ModelRequest) -> ModelRequest:
        """Return the request with the limits of this model."""
        capabilities = self.capabilities
        most = self._limits.reply(request, thinks=capabilities.thinks, longest=capabilities.longest)
        heat = request.temperature if request.temperature is not None else self.settings.temperature
        return request.model_copy(update={"max_tokens": most, "temperature": heat})

    def _bound(self, request: ModelRequest, messages: tuple[Message, ...]) -> Usage:
        """Return the most that a try can cost; a reply that cannot be limited may fill the context."""
        bound = bound_of(messages, request)
        if self.capabilities.protocol == "chat" and self.capabilities.limit == "none":
            bound = bound.model_copy(update={"completion_tokens": self.context_tokens})
        return priced(self.name, bound, self.settings.price)
