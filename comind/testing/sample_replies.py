"""Make replies of a model from the schema of their type, and from samples of some of their fields."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from comind.llm.model_ports import ModelReply, ModelRequest

__all__ = ["SampleReplies"]

_ITEMS = 2  # of a list
_CODE = ("code", "example")
_REFUSED = 2  # the request whose first reply is no JSON


class SampleReplies:
    """Replies that fit the schema of each request; `samples` and programs are taken in turn.

    One reply is invalid, so that the request to correct it is among the prompts.
    """

    def __init__(
        self, samples: Mapping[str, Sequence[Any]], programs: Sequence[str], sentences: Sequence[str]
    ) -> None:
        """Begin; `samples` are values by `field` or `ReplyType.field`, the rest is for other fields."""
        self._samples, self._programs, self._sentences = samples, programs, sentences
        self._used: Counter[str] = Counter()
        self._requests = 0

    def answer(self, request: ModelRequest) -> ModelReply:
        """Return the next reply."""
        self._requests += 1
        if self._requests == _REFUSED:
            return ModelReply(text="Here it is.", model="sample")
        schema: Mapping[str, Any] = request.reply_schema
        given = {}
        for name in schema.get("properties", {}):
            keys = (f"{request.reply_name}.{name}", name)
            if key := next((each for each in keys if each in self._samples), ""):
                given[name] = self._next(key, self._samples[key])
        return ModelReply(text=json.dumps(self._value(schema, schema, "", given)), model="sample")

    def _next(self, key: str, values: Sequence[Any]) -> Any:
        """Return the next of some values, from the first again after the last."""
        self._used[key] += 1
        return values[(self._used[key] - 1) % len(values)]

    def _value(self, schema: Mapping[str, Any], whole: Mapping[str, Any], name: str, given: Any) -> Any:
        """Return a value of a schema, whose definitions `whole` has; what is `given` of it is kept."""
        if "$ref" in schema:
            definition = whole["$defs"][schema["$ref"].rpartition("/")[2]]
            return self._value(definition, whole, name, given)
        if schema.get("type") == "object":
            known = given or {}
            return {
                field: self._value(each, whole, field, known.get(field))
                for field, each in schema.get("properties", {}).items()
            }
        if schema.get("type") == "array":
            items = [None] * max(_ITEMS, schema.get("minItems", 0)) if given is None else given
            return [self._value(schema.get("items", {}), whole, name, each) for each in items]
        return self._scalar(schema, name) if given is None else given

    def _scalar(self, schema: Mapping[str, Any], name: str) -> Any:
        if "anyOf" in schema:
            return schema.get("default")
        if "enum" in schema:
            return self._next(f"{name} of {schema['enum']}", schema["enum"])
        if "const" in schema:
            return schema["const"]
        if schema.get("format") == "python" or name in _CODE:
            return self._next("programs", self._programs)
        match schema.get("type"):
            case "boolean":
                return self._next(name, (False, True))
            case "integer" | "number":
                least = int(schema.get("minimum", 1))
                return self._next(name, range(least, int(schema.get("maximum", least + 3)) + 1))
            case _:
                return self._text(name)

    def _text(self, name: str) -> str:
        """Return a sentence that no other text has."""
        sentence = self._next("sentences", self._sentences)
        return f"{sentence} ({name.replace('_', ' ')} {self._used['sentences']})"
