"""The official client's request and response types: what is asked and answered, in its own words.

Answers are built from the client's classes, whose setters check every field, and written by their own
serialisation; requests are read by it, and what is not of a field's type is refused.
"""

import hashlib
from datetime import UTC, datetime
from typing import Any

from kagglesdk.competitions.types import competition_api_service as competitions
from kagglesdk.competitions.types.submission_status import SubmissionStatus
from kagglesdk.datasets.types import dataset_api_service as datasets
from kagglesdk.datasets.types.dataset_enums import DatabundleVersionStatus
from kagglesdk.datasets.types.dataset_types import DatasetInfo, SettingsLicense
from kagglesdk.discussions.types import discussions_api_service as discussions
from kagglesdk.kernels.types import kernels_api_service as kernels
from kagglesdk.kernels.types.kernels_enums import KernelWorkerStatus
from kagglesdk.security.types.oauth_service import IntrospectTokenRequest, IntrospectTokenResponse

__all__ = [
    "DatabundleVersionStatus",
    "DatasetInfo",
    "IntrospectTokenRequest",
    "Json",
    "KernelWorkerStatus",
    "SettingsLicense",
    "SubmissionStatus",
    "answer",
    "competitions",
    "datasets",
    "discussions",
    "kernels",
    "made",
    "number",
    "one",
    "read_request",
    "request_type",
    "token_holder",
    "utc",
]

Json = dict[str, Any]

_SERVICES = {
    "competitions": competitions,
    "kernels": kernels,
    "datasets": datasets,
    "discussions": discussions,
}

_RESPONSES: dict[str, Any] = {
    name: kind
    for module in _SERVICES.values()
    for name, kind in vars(module).items()
    if name.endswith("Response")
}

_KEPT_FROM = 100_000  # Kaggle's own numbers are unique on the whole site; small ones are somebody's own


def request_type(route: str) -> Any:
    """Return the client's class of what is asked of a route, by its name, `SERVICE/METHOD`."""
    service, method = route.split("/")
    return getattr(_SERVICES[service.split(".")[0]], f"Api{method}Request")


def read_request(kind: Any, body: Any) -> Any:
    """Return what is asked. ValueError where the body does not have the form of this kind of request."""
    if not isinstance(body, dict):
        raise ValueError("the body is no JSON object")  # noqa: TRY004 - one kind of error for all
    for field in kind._fields:
        value = body.get(field.json_name)
        if field.field_type in (str, int, bool) and value is not None:
            whole = field.field_type is int and isinstance(value, bool)
            if not isinstance(value, field.field_type) or whole:
                raise ValueError(f"{field.json_name} is not of type {field.field_type.__name__}")
    try:
        return kind.from_dict({key: value for key, value in body.items() if value is not None})
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ValueError("a field has a value that is not known") from None


def answer(method: str, **fields: Any) -> Json:
    """Return the response of a method with these fields, as it is sent."""
    return one(made(_RESPONSES[f"Api{method}Response"], **fields))


def one(thing: Any) -> Json:
    """Return an object of the client's as it is sent."""
    answer: Json = thing.to_dict()
    return answer


def number(competition: str, kind: str, identity: str) -> int:
    """Return the number under which the client knows something; the same in every world.

    It depends on the thing alone, never on what else there is, as that might be from later.
    """
    if identity.isdecimal() and _KEPT_FROM <= int(identity) < 1 << 40:
        return int(identity)
    digest = hashlib.sha256(f"{competition}\n{kind}\n{identity}".encode()).digest()
    return (1 << 40) + int.from_bytes(digest[:5])


def made(kind: Any, **fields: Any) -> Any:
    """Return an object of the client's, None left out; its setters check the types."""
    made = kind()
    for name, value in fields.items():
        if value is not None:
            setattr(made, name, utc(value) if isinstance(value, datetime) else value)
    return made


def utc(time: datetime) -> datetime:
    """Return a time as the client writes it: in UTC, without saying so."""
    return time.astimezone(UTC).replace(tzinfo=None)


def token_holder(user: str | None) -> Json:
    """Return whose token it is; None is nobody's."""
    return one(made(IntrospectTokenResponse, active=user is not None, username=user or ""))
