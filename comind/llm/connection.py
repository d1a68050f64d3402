"""Send requests to an OpenAI-compatible endpoint; the one module that imports openai.

openai is used for its transport alone (connection pool, TLS, headers): its retries could not be counted
against the budget, and its parsing loses paid replies (`protocols.py`).
"""

import json
import math
import time
from contextvars import ContextVar
from typing import Any, Literal, NamedTuple, NoReturn
from urllib.parse import urlsplit

import httpx2  # what the client of openai 3 sends with
import openai

from comind.domain.value import one_line
from comind.errors import ComindError, ModelBusyError, ModelServiceError
from comind.llm.http_errors import error_of
from comind.llm.response_body import BodyError, limit_body
from comind.llm.settings import ModelSettings, Protocol

_OPENAI = "api.openai.com"
# vLLM and SGLang; LM Studio; llama.cpp; OpenRouter, Together and others; Groq; Mistral; GitHub.
_CONTEXTS = (
    "max_model_len",
    "loaded_context_length",
    "n_ctx",
    "context_length",
    "context_window",
    "max_context_length",
    "max_input_tokens",
)
_PLACES = ("meta", "metadata", "limits", "top_provider", "default_generation_settings")
_REASON_LENGTH = 300
_PATHS = {"chat": "/chat/completions", "responses": "/responses", "embeddings": "/embeddings"}
# Of the response to this thread's request, by the monotonic clock; openai passes nothing on to hooks.
_DEADLINE: ContextVar[float] = ContextVar("deadline")

HttpResponse = httpx2.Response


class Connection:
    """An endpoint; requests are not retried."""

    def __init__(
        self, name: str, *, base_url: str | None, api_key: str | None, settings: ModelSettings
    ) -> None:
        """Create the client without sending anything.

        Args:
            name: the model, for error messages.
            base_url: None: OpenAI's own endpoint.
            api_key: None for endpoints without keys.
            settings: timeouts, and the variable that holds the key.
        """
        self._client = _client(base_url, api_key, settings.timeout_seconds)
        self._timeout_seconds = settings.timeout_seconds
        self._call_seconds = settings.call_seconds
        self._key = api_key  # some servers quote it in error messages
        self._key_variable = settings.key_variable
        self.where = f"the model {name} at {self._client.base_url.copy_with(userinfo=b'')}"
        """Model and address, for error messages."""

    def post(
        self,
        protocol: Protocol | Literal["embeddings"],
        body: dict[str, Any],
        timeout_seconds: float | None = None,
    ) -> HttpResponse:
        """Send a request and return the whole response, whatever its status.

        Raises:
            ModelBusyError: no whole response arrived within `timeout_seconds` or the timeouts of the
                settings.
        """
        most = min(self._call_seconds, math.inf if timeout_seconds is None else timeout_seconds)
        _DEADLINE.set(time.monotonic() + most)
        timeout = min(self._timeout_seconds, most)
        try:
            return self._client.post(
                _PATHS[protocol], cast_to=httpx2.Response, body=body, options={"timeout": timeout}
            )
        except openai.APIStatusError as error:
            return error.response
        except openai.OpenAIError as error:
            self._no_answer(error)

    def error(self, response: HttpResponse) -> ComindError:
        """Return the error for a response that is no success, with the API key redacted."""
        body, headers = self.text_of(response), response.headers
        return error_of(self.where, response.status_code, headers, body, self._key_variable)

    def text_of(self, response: HttpResponse) -> str:
        """Return the body of a response, with API key and address redacted."""
        text = response.text.replace(str(self._client.base_url), "(the endpoint)")
        return text.replace(self._key, "(the key)") if self._key else text

    def _no_answer(self, error: openai.OpenAIError) -> NoReturn:
        cause = error.__cause__ or error
        if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout):
            raise ModelBusyError(
                f"{self.where} cannot be reached",
                hint="is OPENAI_BASE_URL right and the server up?",
                billed=False,
            ) from None
        reason = f"the connection broke ({type(cause).__name__})"
        if isinstance(cause, BodyError):
            reason = str(cause)
        elif isinstance(error, openai.APITimeoutError):
            reason = "timeout before the end of the response"
        raise ModelBusyError(f"{self.where}: {reason}") from None


def _limit(response: HttpResponse) -> None:
    limit_body(response, _DEADLINE.get())


def _client(base_url: str | None, api_key: str | None, timeout_seconds: float) -> openai.OpenAI:
    """Return a client that limits time and size of all bodies; retries are its caller's."""
    return openai.OpenAI(
        base_url=base_url,
        api_key=api_key or "none",
        timeout=timeout_seconds,
        max_retries=0,  # retries are limited for the whole campaign, see comind/llm/rate_limiter.py
        default_headers={"Accept-Encoding": "identity"},  # a server may compress all the same
        http_client=openai.DefaultHttpxClient(event_hooks={"response": [_limit]}),
    )


class _ListedModel(NamedTuple):
    name: str
    context_tokens: int | None
    """Context window, None where the list has none."""


def listed_models(base_url: str, api_key: str | None) -> list[_ListedModel]:
    """Return the models that an endpoint lists.

    Raises:
        ModelServiceError: the endpoint is unreachable, refuses, or lists none.
    """
    try:
        listed = _list_of(_got(base_url, api_key, "/models", seconds=30, retries=1))
    except (openai.OpenAIError, ValueError, RecursionError) as error:
        reason = str(error).replace(api_key, "(the key)") if api_key else str(error)
        raise ModelServiceError(
            f"the endpoint {base_url} does not list its models "
            f"({one_line(reason, _REASON_LENGTH) or type(error).__name__})",
            hint="is the server up? name a model with --model",
        ) from None
    models = [each for each in listed if isinstance(each.get("id"), str) and each["id"].isprintable()]
    if not models:
        raise ModelServiceError(f"the endpoint {base_url} has no models")
    return [_ListedModel(each["id"], _context_of(each)) for each in models]


def served_context(base_url: str, api_key: str | None, name: str) -> int | None:
    """Return the context window of a model in tokens as its endpoint states it, or None.

    It is looked up in the list of models, then where llama.cpp and LM Studio have it.
    """
    try:
        listed = listed_models(base_url, api_key)
    except ModelServiceError:
        return None  # not every endpoint has a list
    found = next((each.context_tokens for each in listed if each.name == name), None)
    if found is not None or urlsplit(base_url).hostname == _OPENAI:
        return found
    return _context_outside_protocol(base_url, api_key, name)


def _context_outside_protocol(base_url: str, api_key: str | None, name: str) -> int | None:
    """Return a model's context window from paths that are not part of the protocol, or None."""
    root = base_url.rstrip("/").removesuffix("/v1")
    for path in ("/api/v0/models", "/props"):
        try:
            answer = _got(base_url, api_key, f"{root}{path}", seconds=5)
        except (openai.OpenAIError, ValueError, RecursionError):
            continue
        unlisted = [answer] if isinstance(answer, dict) and answer.get("data") is None else []
        models = unlisted or [each for each in _list_of(answer) if each.get("id") == name]
        if models and (found := _context_of(models[0])) is not None:
            return found
    return None


def _got(base_url: str, api_key: str | None, path: str, *, seconds: float, retries: int = 0) -> object:
    """Return the JSON that an endpoint has at a path, relative to its base URL or whole."""
    _DEADLINE.set(time.monotonic() + seconds * (1 + retries))
    client = _client(base_url, api_key, seconds)
    response = client.with_options(max_retries=retries).get(path, cast_to=httpx2.Response)
    return json.loads(response.text)


def _list_of(answer: object) -> list[dict[str, Any]]:
    """Return the models in an answer of any shape."""
    found = answer.get("data") if isinstance(answer, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _context_of(model: dict[str, Any]) -> int | None:
    """Return a listed model's context window, under any of the names in use."""
    for place in (model, *(model.get(name) for name in _PLACES)):
        if not isinstance(place, dict):
            continue
        for name in _CONTEXTS:
            if isinstance(place.get(name), int) and place[name] > 0:
                return int(place[name])
    return None
