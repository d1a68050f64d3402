"""Reply to requests from a script."""

import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from comind.errors import ModelServiceError
from comind.llm.model_ports import ModelReply, ModelRequest, Usage
from comind.llm.tokens import count_image_tokens, count_tokens
from comind.testing.rules import Rules

__all__ = ["ScriptedModel"]

_USAGE = Usage(prompt_tokens=100, completion_tokens=20)


class ScriptedModel:
    """Replies with the next text of a script, or with the result of a function.

    `requests` holds the requests in order. With `usage` None the tokens of each reply are counted.
    Messages may have images where `takes_images` is set.
    """

    reply_tokens: int | None = None

    def __init__(
        self,
        script: Iterable[str] | Callable[[ModelRequest], str | ModelReply],
        *,
        name: str = "scripted",
        usage: Usage | None = _USAGE,
        context_tokens: int = 128_000,
        takes_images: bool = False,
    ) -> None:
        self.name = name
        self.context_tokens = context_tokens
        self.takes_images = takes_images
        self.requests: list[ModelRequest] = []
        self._usage = usage
        self._lock = threading.Lock()
        if callable(script):
            self._answer = script
        else:
            replies = iter(script)
            self._answer = lambda _request: next(replies)

    @classmethod
    def from_file(cls, path: Path, *, name: str = "", usage: Usage | None = _USAGE) -> "ScriptedModel":
        """Return a model that replies by the rules in a YAML file (`rules.py`), so it can be resumed.

        Its default name is that of the file.

        Raises:
            UsageError: the file is not a list of rules.
        """
        return cls(Rules(path).answer, name=name or path.stem, usage=usage)

    def bound(self, request: ModelRequest) -> Usage:
        """Return the usage of every reply, or an upper bound on the counted usage of this one."""
        return self._usage or Usage(prompt_tokens=_read(request), completion_tokens=request.max_tokens)

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return the next reply.

        Raises:
            ModelServiceError: the script has no more replies, or none to this request.
        """
        with self._lock:
            self.requests.append(request)
            try:
                answer = self._answer(request)
            except StopIteration:
                raise ModelServiceError("the script has no more replies") from None
        reply = ModelReply(text=answer, model=self.name) if isinstance(answer, str) else answer
        written = count_tokens(reply.text)
        usage = self._usage or Usage(prompt_tokens=_read(request), completion_tokens=written)
        return reply.model_copy(update={"model": self.name, "usage": usage})


def _read(request: ModelRequest) -> int:
    shown = sum(count_image_tokens(each.images) for each in request.messages)
    return shown + sum(count_tokens(each.content) for each in request.messages)
