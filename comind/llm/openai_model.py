"""Any server that speaks the OpenAI chat protocol; the one module that knows its client."""

import json
import time
from typing import Any, NoReturn

import openai
from openai.types.chat import ChatCompletion

from comind.errors import ModelServiceError, ReplyError
from comind.llm.base import Message, ModelReply, ModelRequest, Usage
from comind.llm.prices import price_of
from comind.llm.templates import Templates

__all__ = ["OpenAIModel", "first_model"]

_TIMEOUT_SECONDS = 900.0
_RETRIES = 3
_BYTES_PER_TOKEN = 2  # fewer than any tokeniser needs for text and code: bounds, not estimates


class OpenAIModel:
    """A chat model behind an OpenAI-compatible endpoint.

    Replies are asked for by JSON schema; a server that refuses the schema is asked in our strict text
    form from then on. A reply that holds a program always comes in the text form: inside a JSON string
    small models lose count of quotes, and a grammar then cuts the program off (docs/lab-notes.md).
    """

    def __init__(self, name: str, *, base_url: str | None, api_key: str | None) -> None:
        """Prepare the client; nothing is sent yet.

        Args:
            name: the model's name at its endpoint.
            base_url: the endpoint; None for OpenAI's own.
            api_key: the key; endpoints without keys take any.
        """
        self.name = name
        self._client = openai.OpenAI(
            base_url=base_url,
            api_key=api_key or "none",
            timeout=_TIMEOUT_SECONDS,
            max_retries=_RETRIES,
        )
        self._own = base_url is None
        self._structured = True
        self._templates = Templates("comind.llm")

    def bound(self, request: ModelRequest) -> Usage:
        """Return the most that answering `request` can cost."""
        prompt = sum(len(message.content.encode()) for message in request.messages)
        schema = len(str(request.reply_schema))
        return self._priced(
            Usage(
                prompt_tokens=(prompt + schema) // _BYTES_PER_TOKEN + 1,
                completion_tokens=request.max_tokens,
            )
        )

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return the model's reply.

        Raises:
            ModelServiceError: the endpoint is unreachable or refuses, after the client's retries.
            ReplyError: the conversation is longer than the model's context.
        """
        begun = time.monotonic()
        structured = self._structured and not _programs(request)
        try:
            completion = self._send(request, structured=structured)
        except openai.BadRequestError as error:
            if not structured or not _names_schema(error):
                self._refuse(error)
            structured = self._structured = False
            try:
                completion = self._send(request, structured=False)
            except openai.OpenAIError as second:
                self._refuse(second)
        except openai.OpenAIError as error:
            self._refuse(error)
        if not completion.choices:
            raise ModelServiceError(f"the model {self.name} sent a reply without choices")
        choice = completion.choices[0]
        return ModelReply(
            text=choice.message.content or "",
            form="json" if structured else "text",
            model=completion.model or self.name,
            finish=choice.finish_reason,
            usage=self._priced(_usage(completion, request)),
            seconds=round(time.monotonic() - begun, 3),
        )

    def _send(self, request: ModelRequest, *, structured: bool) -> ChatCompletion:
        messages = list(request.messages)
        options: dict[str, Any] = {}
        if structured:
            schema = {"name": request.reply_name, "schema": request.reply_schema, "strict": True}
            options["response_format"] = {"type": "json_schema", "json_schema": schema}
        else:
            messages.append(Message(role="user", content=self._form(request)))
        if request.temperature is not None:
            options["temperature"] = request.temperature
        options["max_completion_tokens" if self._own else "max_tokens"] = request.max_tokens
        sent: Any = [message.model_dump() for message in messages]
        completion: ChatCompletion = self._client.chat.completions.create(
            model=self.name, messages=sent, **options
        )
        return completion

    def _form(self, request: ModelRequest) -> str:
        """Describe our text form for the reply that `request` calls for."""
        properties: Any = request.reply_schema.get("properties", {})
        definitions = request.reply_schema.get("$defs")
        programs = _programs(request)
        plain = {name: schema for name, schema in properties.items() if name not in programs}
        return self._templates.render(
            "text_form",
            plain=[(name, _in_words(schema)) for name, schema in plain.items()],
            programs=programs,
            definitions=json.dumps(definitions) if definitions else "",
        )

    def _priced(self, usage: Usage) -> Usage:
        return usage.model_copy(update={"usd": price_of(self.name, usage) or 0.0})

    def _refuse(self, error: openai.OpenAIError) -> NoReturn:
        where = f"the model {self.name} at {self._client.base_url}"
        match error:
            case openai.AuthenticationError() | openai.PermissionDeniedError():
                raise ModelServiceError(f"{where} refuses the key", hint="set OPENAI_API_KEY") from None
            case openai.NotFoundError():
                raise ModelServiceError(
                    f"{where} is not known there", hint="name another one with --model"
                ) from None
            case openai.APITimeoutError():
                raise ModelServiceError(f"{where} did not answer in time") from None
            case openai.APIConnectionError():
                raise ModelServiceError(
                    f"{where} cannot be reached", hint="is OPENAI_BASE_URL right and the server up?"
                ) from None
            case openai.BadRequestError() if "context" in str(error).lower():
                raise ReplyError(f"the conversation is longer than {self.name} can read") from None
            case _:
                raise ModelServiceError(f"{where} failed: {_first_line(error)}") from None


def _programs(request: ModelRequest) -> list[str]:
    """Return the names of the fields of the reply that hold a program."""
    properties: Any = request.reply_schema.get("properties", {})
    return [name for name, schema in properties.items() if schema.get("format") == "python"]


def _in_words(schema: dict[str, Any]) -> str:
    """Say what a field holds: its description, its kind in words, or its JSON schema."""
    if "description" in schema:
        return str(schema["description"])
    words = {"boolean": "true or false", "string": "text", "integer": "a whole number"}
    return words.get(str(schema.get("type"))) or json.dumps(schema)


def _usage(completion: ChatCompletion, request: ModelRequest) -> Usage:
    """Return the tokens that the server counted; for a silent server an estimate from the text."""
    counted = completion.usage
    if counted is None:
        text = completion.choices[0].message.content or ""
        prompt = sum(len(message.content.encode()) for message in request.messages)
        return Usage(
            prompt_tokens=prompt // _BYTES_PER_TOKEN,
            completion_tokens=len(text.encode()) // _BYTES_PER_TOKEN,
        )
    prompt_details, details = counted.prompt_tokens_details, counted.completion_tokens_details
    return Usage(
        prompt_tokens=counted.prompt_tokens,
        cached_tokens=(prompt_details.cached_tokens or 0) if prompt_details else 0,
        completion_tokens=counted.completion_tokens,
        reasoning_tokens=(details.reasoning_tokens or 0) if details else 0,
    )


def _names_schema(error: openai.BadRequestError) -> bool:
    text = str(error).lower()
    return any(word in text for word in ("response_format", "json_schema", "schema", "grammar"))


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__


def first_model(base_url: str, api_key: str | None) -> str:
    """Return the first model that an endpoint says it has.

    Raises:
        ModelServiceError: the endpoint is unreachable, refuses, or names none.
    """
    client = openai.OpenAI(base_url=base_url, api_key=api_key or "none", timeout=30, max_retries=1)
    try:
        models = client.models.list().data
    except openai.OpenAIError as error:
        raise ModelServiceError(
            f"the endpoint {base_url} does not list its models ({_first_line(error)})",
            hint="is the server up? name a model with --model",
        ) from None
    if not models:
        raise ModelServiceError(f"the endpoint {base_url} has no models")
    return models[0].id
