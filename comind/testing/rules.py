"""Match requests with the replies of a scripted model by rules in a YAML file; the first match wins."""

import json
from pathlib import Path

import yaml
from pydantic import JsonValue, TypeAdapter, ValidationError, model_validator

from comind.domain.value import Value
from comind.errors import ModelServiceError, UsageError
from comind.llm.model_ports import ModelReply, ModelRequest

__all__ = ["Rule", "Rules"]

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The same in C, ten times as fast, where PyYAML was built with it."""


class Rule(Value):
    """A reply, and the conditions on its requests, all of which must hold.

    Nothing else is compared, so that a rule still matches after changes of prompts, scores or the order
    in which attempts end.
    """

    reply: str
    """Name of the reply type, such as `Analysis`."""
    about: str | tuple[str, ...] = ""
    """Substring of the first user message, where the task is, or several of them."""
    contains: str = ""
    """Substring of the last message."""
    turn: int | None = None
    """Number of the reply in its conversation, from 1."""
    say: dict[str, JsonValue] | None = None
    """The reply as an object."""
    file: str | None = None
    """Or a file beside the rules with the text of the reply, a cell of Python."""

    @property
    def topics(self) -> tuple[str, ...]:
        """The substrings of `about`."""
        return (self.about,) if isinstance(self.about, str) else self.about

    @model_validator(mode="after")
    def _says_one_thing(self) -> "Rule":
        if (self.say is None) == (self.file is None):
            raise ValueError("a rule has either `say` or `file`")
        return self


class Rules:
    """The rules of one file; stateless, so that campaigns can be resumed with them."""

    def __init__(self, path: Path) -> None:
        """Read the rules.

        Raises:
            UsageError: the file, or one that it names, is missing or invalid.
        """
        self._path = path
        self._rules = _read(path)
        self._files = {rule.file: _text(path, rule.file) for rule in self._rules if rule.file}

    def answer(self, request: ModelRequest) -> ModelReply:
        """Return the reply of the first rule that matches.

        Raises:
            ModelServiceError: none matches. The request is not retried, and other requests of the
                campaign are still answered.
        """
        turn = 1 + sum(each.role == "assistant" for each in request.messages)
        task = next((each.content for each in request.messages if each.role == "user"), "")
        last = request.messages[-1].content
        named = [rule for rule in self._rules if rule.reply == request.reply_name]
        candidates = [rule for rule in named if all(topic in task for topic in rule.topics)]
        for rule in candidates:
            if rule.turn in (None, turn) and rule.contains in last:
                if rule.file is not None:
                    return ModelReply(text=self._files[rule.file], form="text", model=self._path.stem)
                return ModelReply(text=json.dumps(rule.say), model=self._path.stem)
        topics = [topic for rule in candidates for topic in rule.topics if topic]
        about = f" about {topics[0]!r}" if topics else ""
        raise ModelServiceError(
            f"{self._path}: no {request.reply_name} of {request.role}{about}, turn {turn}, "
            f"after: {' '.join(last[-200:].split())}",
            hint="add a rule for it, or name a language model with --model",
        )


def _read(path: Path) -> list[Rule]:
    try:
        found = yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)  # noqa: S506 - a safe one
        return TypeAdapter(list[Rule]).validate_python(found)
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        raise UsageError(f"{path}: {error}", hint="it must be a YAML list of rules") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{path}: rule {place}: {first['msg']}") from None


def _text(path: Path, name: str) -> str:
    try:
        return (path.parent / name).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{path}: {name}: {error}") from None
