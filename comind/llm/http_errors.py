"""Map HTTP error responses of an endpoint to errors: of this prompt, refused, or busy (retryable)."""

import json
import re
from collections.abc import Mapping

from comind.errors import ComindError, ContextError, ModelBusyError, ModelRefusedError, ReplyError
from comind.system.timing import parse_retry_after

_LENGTH = 200
_SEARCHED = 20_000  # characters of a body; a search takes the square of them at worst
_CONTEXT = re.compile(
    r"context (length|size|window)|maximum context|prompt is too long|too many (input )?tokens"
    r"|exceed_context|context_length|maximum (prompt|input) length|token count.{0,30} exceeds"
    r"|max_new_tokens.{0,9} must be|input is too long|reduce the length of the (messages|prompt|input)"
)
# As OpenAI and vLLM, llama.cpp, xAI, Anthropic, Mistral, Gemini and TGI say it, in turn.
_LIMIT = re.compile(
    r"n_ctx\D{1,4}(\d+)|context (?:length|size|window)[^\d]{0,20}(\d+)"
    r"|maximum (?:prompt|input) length(?: is| of)? (\d+)|> (\d+) maximum|(\d+) maximum context"
    r"|maximum number of tokens allowed \((\d+)\)|max_new_tokens\W{0,3} must be <= (\d+)"
)
_QUOTA = re.compile(r"insufficient_quota|exceeded your current quota|billing|credit")
# As Azure, OpenAI and OpenRouter refuse a prompt by their rules on content.
_CONTENT = re.compile(r"content[ _-]?(filter|policy|management)|responsibleai|invalid_prompt|moderation")
_KEY, _PAY, _UNKNOWN = (401, 403), (402,), (404, 405, 410)
_OF_CONTENT, _TOO_LARGE = (400, 403, 422, 451), 413
# A gateway sends these when it has lost a server that may have worked on the request.
_LOST = (408, 502, 504)
_BUSY = (408, 409, 425, 429)
_SERVER = 500


def error_of(
    where: str, status: int, headers: Mapping[str, str], body: str, key: str = "OPENAI_API_KEY"
) -> ComindError:
    """Return the error for a response with a status of 400 or more.

    Args:
        where: the endpoint, for the message.
        status: HTTP status.
        headers: may hold a Retry-After.
        body: any text.
        key: environment variable that holds the API key, for the hint.
    """
    message = error_message(body)
    whole = body[:_SEARCHED].lower()
    if status in _OF_CONTENT and _CONTENT.search(whole):
        return ReplyError(f"{where} refuses the content of the prompt: {message}".rstrip(": "))
    if status in _KEY:
        return ModelRefusedError(f"{where} refuses the key", hint=f"set {key}")
    if status in _PAY or (status in _BUSY and _QUOTA.search(whole)):
        return ModelRefusedError(f"{where}: the quota is spent", hint="see the account at its provider")
    if status in _BUSY or status >= _SERVER:
        return ModelBusyError(
            f"{where} failed: {status} {message}".rstrip(),
            retry_after=parse_retry_after(headers),
            billed=status in _LOST,
        )
    if status == _TOO_LARGE or _CONTEXT.search(whole):
        found = _LIMIT.search(whole.replace('"', ""))
        limit = next((int(each) for each in found.groups() if each), None) if found else None
        return ContextError("the conversation is longer than the model can read", limit=limit)
    if status in _UNKNOWN:
        return ModelRefusedError(f"{where} is not known there", hint="name another one with --model")
    return ModelRefusedError(f"{where} failed: {status} {message}".rstrip(), one_request=True)


def error_message(body: str) -> str:
    """Return the error message in a body in one line of at most 200 characters, without markup."""
    try:
        found = json.loads(body)
        error = found.get("error") or found  # older vLLM, Mistral and FastAPI have no object for it
    except (ValueError, AttributeError, RecursionError):
        error = body
    message = error.get("message") or error.get("detail") if isinstance(error, dict) else error
    line = " ".join(re.sub(r"<[^>]*>", " ", str(message or "")[:_SEARCHED]).split())
    return "".join(char for char in line if char.isprintable())[:_LENGTH]
