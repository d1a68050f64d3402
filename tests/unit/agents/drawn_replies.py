"""Replies of a model that Hypothesis draws: near the schema of the request, or anything."""

import json
from typing import Any

from hypothesis import strategies as st

from comind.llm.model_ports import ModelReply, ModelRequest
from comind.testing import ScriptedModel

_ODD = (
    *("good", "unknown", "baseline", "extend", "novel", "attempt-000", "ben/forest"),
    *("../../etc/passwd", "a\0b", "\ud800", "```python\nx\n```", "</code>", "nan", "1e999"),
    *("x" * 5_000, "{{ 7*7 }}", "\u202e"),
)

_words = st.text(max_size=30) | st.sampled_from(_ODD)

_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | _words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_words, inner, max_size=4),
    max_leaves=12,
)


def _of(schema: dict[str, Any], definitions: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return values that nearly match a schema: right keys, mostly right types, any content."""
    if "$ref" in schema:
        return _of(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema:
        return st.one_of(*[_of(each, definitions) for each in schema["anyOf"]])
    right: dict[str, Any] = {
        "string": _words,
        "integer": st.integers(-2, 12),
        "boolean": st.booleans(),
        "null": st.none(),
        "array": st.lists(_of(schema.get("items", {}), definitions), max_size=4)
        if schema.get("type") == "array"
        else st.nothing(),
        "object": _object(schema, definitions) if schema.get("type") == "object" else st.nothing(),
    }
    fitting = right.get(str(schema.get("type")), _values)
    return st.integers(0, 19).flatmap(lambda dice: _values if dice == 0 else fitting)


def _object(schema: dict[str, Any], definitions: dict[str, Any]) -> st.SearchStrategy[Any]:
    properties = schema.get("properties", {})
    return st.fixed_dictionaries({name: _of(each, definitions) for name, each in properties.items()})


@st.composite
def drawn_replies(draw: st.DrawFn, request: ModelRequest) -> ModelReply:
    """Return any reply to a request."""
    schema = request.reply_schema
    fitting = _object(schema, schema.get("$defs", {}))  # type: ignore[arg-type]
    kind = draw(st.sampled_from(["fitting"] * 6 + ["any", "text", "nested", "cut"]))
    if kind == "fitting":
        text = json.dumps(draw(fitting))
    elif kind == "any":
        text = json.dumps(draw(_values))
    elif kind == "nested":
        text = "[" * 3_000 + "]" * 3_000
    else:
        text = draw(
            st.text(max_size=200)
            | st.sampled_from(["```python\n# goal: x\ngood\n```", "{", "1" * 6_000])
        )
    finish = draw(st.sampled_from(["stop"] * 9 + ["length", "refusal", "tool_calls", "odd"]))
    form = draw(st.sampled_from(["json", "json", "text"]))
    return ModelReply.model_validate(
        {"text": text.encode("utf-8", "replace").decode(), "form": form, "model": "m", "finish": finish}
    )


class DrawnModel(ScriptedModel):
    """A model whose replies Hypothesis draws."""

    def __init__(self, data: st.DataObject) -> None:
        super().__init__(lambda request: "")
        self._data = data

    def complete(self, request: ModelRequest) -> ModelReply:
        """Draw a reply."""
        self.requests.append(request)
        return self._data.draw(drawn_replies(request))
