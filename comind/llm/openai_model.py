"""Any server that speaks an OpenAI protocol; the one module that knows its client."""

import json
import re
import threading
import time
from typing import Any, NamedTuple, NoReturn

import httpx2  # what the client of openai 3 sends with
import openai

from comind.errors import ContextError, ModelBusyError, ModelServiceError
from comind.llm.accounts import bound_of, honest
from comind.llm.base import Message, ModelReply, ModelRequest, Usage
from comind.llm.dialect import Dialect
from comind.llm.fitting import fit, prompt_tokens
from comind.llm.prices import price_of
from comind.llm.refusals import message_in, refusal
from comind.llm.settings import DEFAULT_CONTEXT, ModelSettings
from comind.llm.templates import Templates
from comind.llm.wire import Said, WireError, body_of, read_body

__all__ = ["ListedModel", "OpenAIModel", "listed_models"]

_LEARNING = 8  # refusals that one request may teach; a server has fewer abilities than that
_CUTS = (0.75, 0.5)  # of what was sent, when a server finds it too long
_REPLY_SHARE = 0.4  # of a small context, for the reply
_MARGIN = 0.9  # our counts of tokens are near, not exact
_TEACHING = (400, 404, 405, 422)  # statuses of an answer that may say what is not understood
_OK = 200
_THINKERS = re.compile(r"(openai/)?(o\d|gpt-5)")  # OpenAI's; others are known by their first reply
_THOUGHT_TOKENS = 8_192
_THOUGHTS = ("<think>", "</think>")


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
        """Prepare the client; nothing is sent yet.

        Args:
            name: the model's name at its endpoint.
            base_url: the endpoint; None for OpenAI's own.
            api_key: the key; endpoints without keys take any.
            settings: how it is to be asked.
        """
        self.name = name
        self.settings = settings
        self.context_tokens = settings.context_tokens or DEFAULT_CONTEXT
        self._client = openai.OpenAI(
            base_url=base_url,
            api_key=api_key or "none",
            timeout=settings.timeout_seconds,
            max_retries=0,  # counted and limited for the whole campaign, see comind/llm/gate.py
        )
        self._key = api_key  # some servers quote it when they refuse
        self._where = f"the model {name} at {self._client.base_url}"
        self._templates = Templates("comind.llm")
        self._lock = threading.Lock()
        thinks = _THINKERS.match(name) is not None
        self._thoughts = settings.reasoning_tokens or (_THOUGHT_TOKENS if thinks else 0)
        self.dialect = Dialect(
            protocol=settings.protocol or "chat",
            fixed_protocol=settings.protocol is not None,
            limit="max_tokens" if base_url else "max_completion_tokens",
        )
        """What the server has understood so far."""

    def bound(self, request: ModelRequest) -> Usage:
        """Return the most that one try of `request` can cost."""
        request = self._adjusted(request)
        return self._bound(request, self._worded(request, structured=False))

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return the model's reply.

        Raises:
            ModelBusyError: there is no reply now, or none that can be read.
            ModelRefusedError: the endpoint refuses.
            ContextError: the conversation does not fit, however much of it is left out.
        """
        begun = time.monotonic()
        request = self._adjusted(request)
        room, cuts = self._room(request), list(_CUTS)
        for _ in range(_LEARNING + len(_CUTS)):
            dialect = self.dialect
            structured = dialect.structured and not _programs(request.reply_schema)
            messages = fit(self._worded(request, structured=structured), room)
            response = self._post(request, messages, dialect, structured=structured)
            if response.status_code == _OK:
                said = self._read(response, dialect)
                return self._reply(request, messages, said, begun, structured=structured)
            body = response.text.replace(self._key, "(the key)") if self._key else response.text
            error = refusal(
                self._where,
                response.status_code,
                response.headers,
                body,
                self.settings.key_variable,
            )
            if isinstance(error, ContextError) and cuts:
                size = min(room, prompt_tokens(messages))
                said_room = (error.limit - request.max_tokens) * _MARGIN if error.limit else size
                room = int(max(1, min(size * cuts.pop(0), said_room)))
                continue
            learnt = None
            if response.status_code in _TEACHING and not isinstance(error, ContextError):
                learnt = dialect.after(response.status_code, message_in(body))
            if learnt is None:
                raise error from None
            self._learn(dialect, learnt)
        raise ModelServiceError(f"{self._where} understands no request of ours")

    def _post(
        self,
        request: ModelRequest,
        messages: tuple[Message, ...],
        dialect: Dialect,
        *,
        structured: bool,
    ) -> httpx2.Response:
        body = body_of(
            self.name,
            request,
            messages,
            dialect,
            structured=structured,
            effort=self.settings.reasoning_effort,
        )
        if dialect.protocol == "chat":
            create: Any = self._client.chat.completions.with_streaming_response.create
        else:
            create = self._client.responses.with_streaming_response.create
        until = time.monotonic() + self.settings.call_seconds
        try:
            with create(**body) as answer:
                return self._whole(answer.http_response, until)
        except openai.APIStatusError as error:
            return error.response
        except (openai.OpenAIError, httpx2.HTTPError) as error:
            self._no_answer(error)

    def _whole(self, response: httpx2.Response, until: float) -> httpx2.Response:
        """Read an answer to its end; one that only drips is given up, though it is never silent."""
        parts = []
        for part in response.iter_raw():
            parts.append(part)
            if time.monotonic() > until:
                raise ModelBusyError(f"{self._where} did not come to an end in time")
        return httpx2.Response(response.status_code, headers=response.headers, content=b"".join(parts))

    def _no_answer(self, error: Exception) -> NoReturn:
        """Raise what no answer at all, or half of one, means."""
        cause = error.__cause__ if isinstance(error, openai.OpenAIError) and error.__cause__ else error
        unsent = isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout)
        if unsent:
            raise ModelBusyError(
                f"{self._where} cannot be reached",
                hint="is OPENAI_BASE_URL right and the server up?",
                billed=False,
            ) from None
        if isinstance(cause, httpx2.TimeoutException | openai.APITimeoutError):
            raise ModelBusyError(f"{self._where} did not answer in time") from None
        raise ModelBusyError(f"{self._where} broke off ({type(cause).__name__})") from None

    def _read(self, response: httpx2.Response, dialect: Dialect) -> Said:
        """Return what a successful answer says; a completion may stand behind one that says nothing."""
        try:
            return read_body(json.loads(response.text), dialect)
        except (ValueError, RecursionError):
            kind = response.headers.get("content-type", "nothing").split(";")[0]
            raise ModelBusyError(f"{self._where} answers with {kind} that is no JSON") from None
        except WireError as error:
            raise ModelBusyError(f"{self._where}: {error}") from None

    def _reply(
        self,
        request: ModelRequest,
        messages: tuple[Message, ...],
        said: Said,
        begun: float,
        *,
        structured: bool,
    ) -> ModelReply:
        bound = self._bound(request, messages)
        sent = sum(len(message.content.encode()) for message in messages)
        usage = honest(said.usage, bound, sent, said.text)
        text = _after_thinking(said.text)
        kept = structured and _keeps_to(text, request.reply_schema)
        if usage is not None and usage.reasoning_tokens and self.settings.reasoning_tokens is None:
            self._thoughts = _THOUGHT_TOKENS
        if structured and said.finish == "stop" and not kept:
            self._learn(self.dialect, self.dialect.model_copy(update={"structured": False}))
        return ModelReply(
            text=text,
            form="json" if kept else "text",
            model=said.model or self.name,
            finish=said.finish,
            usage=bound if usage is None else self._priced(usage),
            exact=usage is not None,
            seconds=round(time.monotonic() - begun, 3),
        )

    def _learn(self, known: Dialect, learnt: Dialect) -> None:
        """Remember what was learnt, unless another call has learnt something meanwhile."""
        with self._lock:
            if self.dialect == known:
                self.dialect = learnt

    def _adjusted(self, request: ModelRequest) -> ModelRequest:
        """Return the request with the limits of this model."""
        most = min(request.max_tokens, self.settings.max_tokens or request.max_tokens)
        most = min(most + self._thoughts, int(_REPLY_SHARE * self.context_tokens))
        heat = request.temperature if request.temperature is not None else self.settings.temperature
        return request.model_copy(update={"max_tokens": most, "temperature": heat})

    def _room(self, request: ModelRequest) -> int:
        return int((self.context_tokens - request.max_tokens) * _MARGIN)

    def _worded(self, request: ModelRequest, *, structured: bool) -> tuple[Message, ...]:
        """Return the messages with the form of the reply said in words, where a schema does not say it.

        The usual form of a conversation stands at the end of its task, so that it is the same in every
        request; another one stands at the very end.
        """
        messages = list(request.messages)
        standing = request.standing
        if standing is None and _programs(request.reply_schema):
            standing = request.reply_schema
        if standing is not None:
            first = next((n for n, each in enumerate(messages) if each.role == "user"), 0)
            messages.insert(first + 1, Message(role="user", content=self._form(standing)))
        if not structured and standing != request.reply_schema:
            messages.append(Message(role="user", content=self._form(request.reply_schema)))
        return tuple(messages)

    def _form(self, schema: dict[str, Any]) -> str:
        """Describe our text form for a reply of this schema."""
        definitions = schema.get("$defs")
        programs = _programs(schema)
        return self._templates.render(
            "text_form",
            plain=[
                (name, _in_words(each))
                for name, each in schema.get("properties", {}).items()
                if name not in programs
            ],
            programs=programs,
            definitions=json.dumps(definitions) if definitions else "",
        )

    def _bound(self, request: ModelRequest, messages: tuple[Message, ...]) -> Usage:
        return self._priced(bound_of(messages, request))

    def _priced(self, usage: Usage) -> Usage:
        price = price_of(self.name, usage, self.settings.price)
        return usage.model_copy(update={"usd": price or 0.0})


def _programs(schema: dict[str, Any]) -> list[str]:
    """Return the names of the fields of a reply that hold a program."""
    properties: Any = schema.get("properties", {})
    return [name for name, each in properties.items() if each.get("format") == "python"]


def _after_thinking(text: str) -> str:
    """Return a reply without the thoughts that some local models write before it."""
    if not text.lstrip().startswith(_THOUGHTS[0]):
        return text
    _, closed, rest = text.partition(_THOUGHTS[1])
    return rest.lstrip() if closed else text


def _keeps_to(text: str, schema: dict[str, Any]) -> bool:
    """Say whether a reply is one JSON object with the keys that its schema requires."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and set(schema.get("required", [])) <= set(value)


def _in_words(schema: dict[str, Any]) -> str:
    """Say what a field holds: its description, its kind in words, or its JSON schema."""
    if "description" in schema:
        return str(schema["description"])
    words = {"boolean": "true or false", "string": "text", "integer": "a whole number"}
    return words.get(str(schema.get("type"))) or json.dumps(schema)


class ListedModel(NamedTuple):
    """A model that an endpoint says it has, and how many tokens it reads, if that is said."""

    name: str
    context_tokens: int | None


def listed_models(base_url: str, api_key: str | None) -> list[ListedModel]:
    """Return the models that an endpoint says it has.

    Raises:
        ModelServiceError: the endpoint is unreachable, refuses, or names none.
    """
    client = openai.OpenAI(base_url=base_url, api_key=api_key or "none", timeout=30, max_retries=1)
    try:
        answer = client.get("/models", cast_to=httpx2.Response).json()
    except (openai.OpenAIError, ValueError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ModelServiceError(
            f"the endpoint {base_url} does not list its models ({lines[0][:300]})",
            hint="is the server up? name a model with --model",
        ) from None
    found = answer.get("data") if isinstance(answer, dict) else None
    models = [each for each in found or [] if isinstance(each, dict) and isinstance(each.get("id"), str)]
    if not models:
        raise ModelServiceError(f"the endpoint {base_url} has no models")
    return [ListedModel(each["id"], _context_of(each)) for each in models]


def _context_of(model: dict[str, Any]) -> int | None:
    """Return a listed model's context, under any of the names that servers have for it."""
    for place in (model, model.get("meta")):
        if not isinstance(place, dict):
            continue
        for name in ("max_model_len", "context_length", "context_window", "n_ctx"):
            if isinstance(place.get(name), int) and place[name] > 0:
                return int(place[name])
    return None
