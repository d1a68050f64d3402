"""Answer requests that offer functions by calling one of them, with arguments of its schema."""

import json
from collections.abc import Callable
from typing import Any

from tests.doubles.endpoint import EndpointRequest
from tests.doubles.faults import Fault, changed

__all__ = ["calling"]

_VALUES: dict[str, Any] = {"number": 0.5, "integer": 1, "boolean": False, "array": [], "object": {}}


def calling(arguments: dict[str, dict[str, Any]]) -> Callable[[int, EndpointRequest], Fault | None]:
    """Return what turns a reply into the call of a function, where the request offers some.

    The first function is called, or the last one after a result of the first. `arguments` replaces
    values of the schema, by the name of the function.
    """

    def fault(number: int, request: EndpointRequest) -> Fault | None:
        offered = [each["function"] for each in request.body.get("tools", [])]
        if not offered:
            return None
        called = any(each.get("role") == "tool" for each in request.messages)
        chosen = offered[-1] if called else offered[0]
        properties = chosen.get("parameters", {}).get("properties", {})
        drawn = {name: _value(schema, number) for name, schema in properties.items()}
        given = drawn | arguments.get(chosen["name"], {})
        call = {"name": chosen["name"], "arguments": json.dumps(given)}
        tool = {"id": f"call-{number}", "type": "function", "function": call}
        return changed(content=None, tool_calls=[tool], finish_reason="tool_calls")

    return fault


def _value(schema: dict[str, Any], number: int) -> Any:
    """Return a value of a schema; texts differ from request to request."""
    if schema.get("enum"):
        return schema["enum"][0]
    return _VALUES.get(schema.get("type", "string"), f"text {number}")
