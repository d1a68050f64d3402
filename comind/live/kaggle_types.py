"""Parse requests into, and serialize responses from, the official Kaggle client's own types.

The client's setters check the type of every field of a response; a request with a field of another
type is rejected.
"""

import hashlib
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from kagglesdk.competitions.types import competition_api_service as competitions
from kagglesdk.datasets.types import dataset_api_service as datasets
from kagglesdk.datasets.types.dataset_types import SettingsLicense
from kagglesdk.discussions.types import discussions_api_service as discussions
from kagglesdk.kernels.types import kernels_api_service as kernels
from kagglesdk.security.types import oauth_service

__all__ = [
    "SettingsLicense",
    "build",
    "competitions",
    "datasets",
    "discussions",
    "file_entry",
    "kernels",
    "parse_request",
    "request_type",
    "response",
    "stable_id",
    "to_json",
    "utc",
]

_SERVICES = {
    "competitions": competitions,
    "kernels": kernels,
    "datasets": datasets,
    "discussions": discussions,
    "security": oauth_service,
}

_RESPONSES: dict[str, Any] = {
    name: message_type
    for module in _SERVICES.values()
    for name, message_type in vars(module).items()
    if name.endswith("Response")
}

_SITE_WIDE_FROM = 100_000  # Kaggle's own ids are unique across the site; small ones were made up locally


def request_type(route: str) -> Any:
    """Return the client's request class for a route `SERVICE/METHOD`."""
    service, method = route.split("/")
    module = _SERVICES[service.split(".")[0]]
    return getattr(module, f"Api{method}Request", None) or getattr(module, f"{method}Request")


def parse_request(message_type: Any, body: Any) -> Any:
    """Parse a JSON body into a request of class `message_type`.

    Raises:
        ValueError: the body is no JSON object, or a field has the wrong type or an unknown enum value.
    """
    if not isinstance(body, dict):
        raise ValueError("the body is not a JSON object")  # noqa: TRY004 - one error type for callers
    for field in message_type._fields:
        value = body.get(field.json_name)
        if field.field_type in (str, int, bool) and value is not None:
            is_bool = field.field_type is int and isinstance(value, bool)
            if not isinstance(value, field.field_type) or is_bool:
                raise ValueError(f"{field.json_name} is not of type {field.field_type.__name__}")
    try:
        request = message_type.from_dict(
            {key: value for key, value in body.items() if value is not None}
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ValueError("a field has an unknown value") from None
    for field in message_type._fields:
        # The client finds a value among all attributes of the enum class, such as its methods.
        if issubclass(field.field_type, Enum) and body.get(field.json_name) is not None:
            member = getattr(request, field.private_field_name)
            if not isinstance(member, field.field_type):
                raise ValueError("a field has an unknown value")
    return request


def response(method: str, **fields: Any) -> dict[str, Any]:
    """Return the JSON response of a method."""
    message_type = _RESPONSES.get(f"Api{method}Response") or _RESPONSES[f"{method}Response"]
    return to_json(build(message_type, **fields))


def to_json(message: Any) -> dict[str, Any]:
    """Serialize one of the client's objects."""
    serialized: dict[str, Any] = message.to_dict()
    return serialized


def stable_id(competition: str, resource: str, identity: str) -> int:
    """Return the numeric id of an item, the same on every server and at every simulated time.

    It depends on the item alone: a counter would reveal how many other items exist, later ones included.
    """
    if identity.isdecimal() and _SITE_WIDE_FROM <= int(identity) < 1 << 40:
        return int(identity)
    digest = hashlib.sha256(f"{competition}\n{resource}\n{identity}".encode()).digest()
    return (1 << 40) + int.from_bytes(digest[:5])


def build(message_type: Any, **fields: Any) -> Any:
    """Return a `message_type` of the client with all fields that are not None; times become UTC."""
    message = message_type()
    for name, value in fields.items():
        if value is not None:
            setattr(message, name, utc(value) if isinstance(value, datetime) else value)
    return message


def file_entry(message_type: Any, file: tuple[str, int, datetime]) -> Any:
    """Return a file of a competition or a dataset, for which the client has one class each."""
    name, size, time = file
    return build(message_type, ref=name, name=name, total_bytes=size, creation_date=time)


def utc(time: datetime) -> datetime:
    """Convert a time to UTC without a zone, as the client serializes it."""
    return time.astimezone(UTC).replace(tzinfo=None)
