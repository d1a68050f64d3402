"""Call any server of an OpenAI protocol, adapted to its capabilities and context window."""

import math
import re
import threading
import time
from typing import Any

from comind.errors import (
    ComindError,
    ContextError,
    ModelBusyError,
    ModelServiceError,
    ReplyError,
)
from comind.llm import costs, protocols, reply_format
from comind.llm.capabilities import MOST_IMAGES, Capabilities
from comind.llm.connection import Connection, HttpResponse
from comind.llm.context_window import (
    TokenLimits,
    is_reasoning_model,
    keep_images,
    prompt_tokens,
    truncate_messages,
)
from comind.llm.forwarding import ForeignRequest, Forwarded, without_usage
from comind.llm.http_errors import error_message
from comind.llm.model_ports import Message, ModelReply, ModelRequest, Usage
from comind.llm.settings import ModelSettings, Protocol

_CAPABILITIES = 10  # refusals of one request that are learnt from; a server has fewer capabilities
_CUTS = (0.75, 0.5)  # of what was sent, when a server refuses it as too long
_MARGIN = 0.9  # our token counts are estimates
_TEACHING = (400, 404, 405, 422, 501)  # statuses of refusals that may name a capability
_OF_IMAGES = (400, 404, 415, 422, 500)  # statuses by which servers refuse images, in any words
_TOO_LARGE, _FAILED = 413, 500
_OTHER_PATH = (404, 405, 501)  # statuses of a protocol that the server does not have
_UNSUPPORTED = re.compile(r"support|unknown|unrecognized|not permitted|instead", re.IGNORECASE)
_OK = 200
_IMAGES_FROM = 16_384  # tokens of context, unless the settings say so; an image has up to a thousand


class OpenAIModel:
    """A model behind an OpenAI-compatible endpoint; no retries, except without a refused capability.

    Unsupported capabilities are learnt from refusals, which cost nothing, and not used again. Replies
    are constrained by a JSON schema; where the server refuses or ignores it, the format is described in
    words. A reply that holds a program always uses the text format: inside a JSON string small models
    lose count of quotes, and a grammar then truncates the program (docs/lab-notes.md).
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None,
        api_key: str | None,
        settings: ModelSettings = ModelSettings(),  # noqa: B008 - frozen
    ) -> None:
        """Create the client without sending anything; arguments as of `Connection`."""
        self.name = name
        self.settings = settings
        self._limits = TokenLimits(settings)
        self._connection = Connection(name, base_url=base_url, api_key=api_key, settings=settings)
        self._lock = threading.Lock()
        self.capabilities = Capabilities(
            protocol=settings.protocol or "chat",
            stream=settings.stream,
            fixed_protocol=settings.protocol is not None,
            reasoning=is_reasoning_model(name, settings.reasoning_effort),
            images=0 if settings.images is False else MOST_IMAGES,
            limit_parameter="max_tokens" if base_url else "max_completion_tokens",
        )
        """Of the server, as learnt so far."""

    @property
    def context_tokens(self) -> int:
        """Context window, prompt and reply together: of the settings, or lowered by a refusal."""
        return self._limits.context_tokens

    @property
    def reply_tokens(self) -> int | None:
        """Token limit of replies that the user set in place of the roles' limits, if any."""
        return self.settings.max_tokens

    @property
    def takes_images(self) -> bool:
        """Whether images are sent: by the settings, and as none was refused."""
        wanted = self.settings.images or self.context_tokens >= _IMAGES_FROM
        return self.capabilities.images > 0 and wanted

    def bound(self, request: ModelRequest) -> Usage:
        """Return an upper bound on the usage of one attempt at `request`."""
        request = self._with_limits(request)
        return self._bound(request, reply_format.with_format_instructions(request, structured=False))

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return the model's reply.

        Raises:
            ContextError: the conversation is refused as too long even after it was truncated.
            ModelServiceError, ReplyError: as of any `ChatModel`.
        """
        begun = time.monotonic()
        wanted, most, cuts = request, math.inf, list(_CUTS)
        refused = 0  # status of the request with its images, while it is sent without them
        for _ in range(_CAPABILITIES + len(_CUTS)):
            capabilities = self.capabilities  # before the images, which another call may end meanwhile
            request = self._with_limits(wanted, images=not refused)
            room = int(min(most, (self.context_tokens - request.max_tokens) * _MARGIN))
            programs = reply_format.program_fields(request.reply_schema)
            structured = capabilities.structured and not programs
            messages = reply_format.with_format_instructions(request, structured=structured)
            messages = truncate_messages(messages, room)
            body = protocols.request_body(
                self.name,
                request,
                messages,
                capabilities,
                structured=structured,
                effort=self.settings.reasoning_effort,
            )
            shown = any(message.images for message in messages)
            response = self._connection.post(capabilities.protocol, body, wanted.timeout_seconds)
            if response.status_code == _OK:
                completion = self._parse(response, capabilities.protocol)
                self._learn_images(shown=shown, refused=refused)
                reply = self._reply(request, messages, completion, begun, structured=structured)
                return self._with_limit(wanted, request.max_tokens, reply)
            error = self._connection.error(response)
            fewer = capabilities.with_fewer_images(error_message(response.text)) if shown else None
            if fewer is not None:
                self._use(fewer, capabilities)
                continue
            if shown and self._may_be_images(response.status_code, error):
                refused = response.status_code
                continue
            if isinstance(error, ContextError) and cuts:
                most = max(1, cuts.pop(0) * min(room, prompt_tokens(messages)))
                self._limits.learn_context(error.limit, int(most / _MARGIN) + request.max_tokens)
                continue
            learnt = self._learnt(response, error, capabilities)
            if learnt is None:
                raise error from None
            self._use(learnt, capabilities)
            refused = 0  # it was not for its images
        raise ModelServiceError(f"{self._connection.where} refuses every form of the request")

    def forward_bound(self, request: ForeignRequest) -> Usage:
        """Return an upper bound on the usage of one attempt at a request of another program."""
        capabilities = self.capabilities
        limits = capabilities.can_limit_replies or request.protocol == "responses"
        tokens = self._reply_limit(request, capabilities) if limits else self.context_tokens
        return costs.with_price(self.name, request.bound(tokens), self.settings.price)

    def forward(self, request: ForeignRequest, bound: Usage, timeout_seconds: float | None) -> Forwarded:
        """Send the request of another program; a refusal of this request alone is its response.

        Raises:
            ModelServiceError: as of any `ChatModel`.
        """
        begun, capabilities, refused = time.monotonic(), self.capabilities, Forwarded(400, "")
        for _ in range(_CAPABILITIES):
            tokens = min(
                bound.completion_tokens // request.replies, self._reply_limit(request, capabilities)
            )
            body = request.written(self.name, tokens, capabilities, self.settings)
            response = self._connection.post(request.protocol, body, timeout_seconds)
            text = self._connection.text_of(response)
            if response.status_code == _OK:
                completion = self._parse(response, request.protocol)
                return self._forwarded(request, bound, completion, begun, text)
            refused, message = Forwarded(response.status_code, text), error_message(text)
            if response.status_code in _OTHER_PATH and "model" not in message.lower():
                return refused  # the server lacks this protocol; a program may try the other one
            error, learnt = self._connection.error(response), capabilities
            if isinstance(error, ContextError) and error.limit is not None:
                self._limits.learn_context(error.limit, error.limit)
            else:
                learnt = self._learnt(response, error, capabilities) or capabilities
            if not self._differs(request, body, bound, learnt):
                if isinstance(error, ReplyError) or getattr(error, "one_request", False):
                    return refused
                raise error from None
            if _UNSUPPORTED.search(message):  # else a value of the program may be wrong
                self._use(learnt, capabilities)
            capabilities = learnt
        return refused

    def _differs(
        self, request: ForeignRequest, body: dict[str, Any], bound: Usage, learnt: Capabilities
    ) -> bool:
        """Return whether the next form of a request is another one, within what is reserved for it."""
        if not (learnt.can_limit_replies or request.protocol == "responses"):
            return False
        tokens = min(bound.completion_tokens // request.replies, self._reply_limit(request, learnt))
        return request.written(self.name, tokens, learnt, self.settings) != body

    def _reply_limit(self, request: ForeignRequest, capabilities: Capabilities) -> int:
        asked = ModelRequest(role="", messages=(), max_tokens=request.wanted_tokens)
        return self._limits.reply(asked, capabilities)

    def _forwarded(
        self,
        request: ForeignRequest,
        bound: Usage,
        completion: protocols.Completion,
        begun: float,
        text: str,
    ) -> Forwarded:
        usage = costs.plausible_usage(completion.usage, bound, request.text_bytes, completion.text)
        reply = ModelReply(
            text=completion.text,
            form="text",
            model=completion.model or self.name,
            finish=completion.finish,
            usage=bound if usage is None else costs.with_price(self.name, usage, self.settings.price),
            exact=usage is not None,
            seconds=round(time.monotonic() - begun, 3),
        )
        hidden = completion.streamed and not request.wants_usage
        return Forwarded(_OK, without_usage(text) if hidden else text, reply)

    def _may_be_images(self, status: int, error: ComindError) -> bool:
        """Return whether a request was refused perhaps for its images, so that it goes without them."""
        if status == _TOO_LARGE:
            return True
        if isinstance(error, ReplyError) or (status == _FAILED and self.capabilities.sees):
            return False
        return status in _OF_IMAGES

    def _learn_images(self, *, shown: bool, refused: int) -> None:
        """Learn from an answer whether images are accepted; `refused` is the status with them."""
        if shown:
            self._learn(sees=True)
        elif refused and refused != _TOO_LARGE and not self.capabilities.sees:
            self._learn(images=0)

    def _learnt(
        self, response: HttpResponse, error: ComindError, capabilities: Capabilities
    ) -> Capabilities | None:
        """Return the capabilities without the one that a refusal names; None where it names none."""
        if response.status_code not in _TEACHING or isinstance(error, ContextError):
            return None
        return capabilities.after_refusal(response.status_code, error_message(response.text))

    def _use(self, learnt: Capabilities, before: Capabilities) -> None:
        with self._lock:
            if self.capabilities == before:  # else another call has learnt meanwhile
                self.capabilities = learnt

    def _parse(self, response: HttpResponse, protocol: Protocol) -> protocols.Completion:
        """Return the completion in a response with the status 200, which may hold none."""
        where = self._connection.where
        try:
            completion = protocols.parse_response(response.text, protocol)
        except (ValueError, RecursionError):
            content_type = response.headers.get("content-type", "nothing").split(";")[0]
            raise ModelBusyError(f"{where}: the response ({content_type}) is not JSON") from None
        except protocols.ProtocolError as error:
            raise ModelBusyError(f"{where}: {error}") from None
        if completion.streamed and completion.usage is None:
            self._learn(stream=False)  # whole bodies may have the usage
        return completion

    def _reply(
        self,
        request: ModelRequest,
        messages: tuple[Message, ...],
        completion: protocols.Completion,
        begun: float,
        *,
        structured: bool,
    ) -> ModelReply:
        bound = self._bound(request, messages)
        sent = sum(len(message.content.encode()) for message in messages)
        usage = costs.plausible_usage(completion.usage, bound, sent, completion.text)
        text, reasoned = reply_format.strip_reasoning(completion.text)
        matches = structured and reply_format.matches_schema(text, request.reply_schema)
        counted = usage is not None and usage.reasoning_tokens > 0
        if completion.reasoning or counted or reasoned:
            self._learn(reasoning=True)
        if structured and completion.finish == "stop" and not matches:
            self._learn(structured=False)
        return ModelReply(
            text=text,
            form="json" if matches else "text",
            model=completion.model or self.name,
            finish=completion.finish,
            usage=bound if usage is None else costs.with_price(self.name, usage, self.settings.price),
            exact=usage is not None,
            seconds=round(time.monotonic() - begun, 3),
        )

    def _with_limit(self, request: ModelRequest, limit: int, reply: ModelReply) -> ModelReply:
        """Return a truncated reply with its token limit, and whether that can be raised."""
        capabilities = self.capabilities
        if reply.finish != "length" or not capabilities.can_limit_replies:
            return reply
        can_rise = self._limits.can_rise(request, limit, capabilities)
        return reply.model_copy(update={"limit": limit, "can_rise": can_rise})

    def _learn(self, **capabilities: int) -> None:
        with self._lock:
            self.capabilities = self.capabilities.model_copy(update=capabilities)

    def _with_limits(self, request: ModelRequest, *, images: bool = True) -> ModelRequest:
        """Return the request with limit and temperature of this model, and the images that it takes."""
        limit = self._limits.reply(request, self.capabilities)
        heat = request.temperature if request.temperature is not None else self.settings.temperature
        most = self.capabilities.images if images and self.takes_images else 0
        messages = keep_images(request.messages, most)
        changes = {"max_tokens": limit, "temperature": heat, "messages": messages}
        return request.model_copy(update=changes)

    def _bound(self, request: ModelRequest, messages: tuple[Message, ...]) -> Usage:
        """Return the upper bound; a reply without a token limit may fill the context window."""
        known = None if self._limits.assumed else self.context_tokens
        bound = costs.max_usage(messages, request, self.name, known)
        if not self.capabilities.can_limit_replies:
            bound = bound.model_copy(update={"completion_tokens": self.context_tokens})
        return costs.with_price(self.name, bound, self.settings.price)
