"""A model that says what it was told to say."""

import json
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import yaml

from comind.errors import ModelServiceError
from comind.llm.base import ModelReply, ModelRequest, Usage

__all__ = ["ScriptedModel"]


class ScriptedModel:
    """Answers each request with the next text of a script, or with what a function makes of it.

    `requests` holds what was asked, in order.
    """

    reply_tokens: int | None = None

    def __init__(
        self,
        script: Iterable[str] | Callable[[ModelRequest], str],
        *,
        name: str = "scripted",
        usage: Usage = Usage(prompt_tokens=100, completion_tokens=20),  # noqa: B008 - frozen
        context_tokens: int = 128_000,
    ) -> None:
        self.name = name
        self.context_tokens = context_tokens
        self.requests: list[ModelRequest] = []
        self._usage = usage
        self._lock = threading.Lock()
        if callable(script):
            self._answer = script
        else:
            replies = iter(script)
            self._answer = lambda _request: next(replies)

    @classmethod
    def from_file(cls, path: Path) -> "ScriptedModel":
        """Return a model that answers by the rules in a YAML file.

        A rule is `{reply: NAME, contains: TEXT, say: OBJECT}`; the first one fits whose reply is asked
        for and whose text (optional) stands in the last message. Without memory, it can be resumed.
        """
        rules = yaml.safe_load(path.read_text(encoding="utf-8"))

        def answer(request: ModelRequest) -> str:
            last = request.messages[-1].content
            for rule in rules:
                if rule["reply"] == request.reply_name and rule.get("contains", "") in last:
                    return json.dumps(rule["say"])
            raise ModelServiceError(f"{path}: no rule for {request.reply_name} after: {last[-200:]}")

        return cls(answer, name=path.stem)

    def bound(self, request: ModelRequest) -> Usage:
        """Return the usage that every reply reports."""
        del request
        return self._usage

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return the next reply.

        Raises:
            ModelServiceError: the script is at its end.
        """
        with self._lock:
            self.requests.append(request)
            try:
                text = self._answer(request)
            except StopIteration:
                raise ModelServiceError("the script has no more replies") from None
        return ModelReply(text=text, model=self.name, usage=self._usage)
