"""The official client's own types: the schema of the server, met in this module only."""

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
from kagglesdk.security.types import oauth_service as security

__all__ = [
    "REQUESTS",
    "DatabundleVersionStatus",
    "DatasetInfo",
    "Json",
    "KernelWorkerStatus",
    "SettingsLicense",
    "SubmissionStatus",
    "competitions",
    "datasets",
    "discussions",
    "kernels",
    "made",
    "number",
    "read_request",
    "security",
    "utc",
    "written",
]

Json = dict[str, Any]

_COMPETITIONS = "competitions.CompetitionApiService"
_KERNELS = "kernels.KernelsApiService"
_DATASETS = "datasets.DatasetApiService"
_DISCUSSIONS = "discussions.DiscussionApiService"

REQUESTS: dict[str, Any] = {
    **{
        f"{_COMPETITIONS}/{name}": getattr(competitions, f"Api{name}Request")
        for name in (
            "ListCompetitions",
            "GetCompetition",
            "ListCompetitionPages",
            "ListDataFiles",
            "DownloadDataFile",
            "DownloadDataFiles",
            "GetLeaderboard",
            "DownloadLeaderboard",
            "GetSubmissionLimits",
            "StartSubmissionUpload",
            "CreateSubmission",
            "CreateCodeSubmission",
            "ListSubmissions",
            "GetSubmission",
            "DownloadSubmission",
            "ListCompetitionTopics",
            "ListTopicMessages",
        )
    },
    **{
        f"{_KERNELS}/{name}": getattr(kernels, f"Api{name}Request")
        for name in (
            "ListKernels",
            "GetKernel",
            "ListKernelFiles",
            "ListKernelSessionOutput",
            "GetKernelSessionStatus",
        )
    },
    **{
        f"{_DATASETS}/{name}": getattr(datasets, f"Api{name}Request")
        for name in (
            "ListDatasets",
            "GetDataset",
            "GetDatasetMetadata",
            "GetDatasetStatus",
            "ListDatasetFiles",
            "DownloadDataset",
        )
    },
    **{
        f"{_DISCUSSIONS}/{name}": getattr(discussions, f"Api{name}Request")
        for name in ("ListTopics", "GetTopic", "ListComments")
    },
    "security.OAuthService/IntrospectToken": security.IntrospectTokenRequest,
}
"""Every route that is served, by the name in its path, with what is asked there."""

_KEPT_FROM = 100_000  # Kaggle's own numbers are unique on the whole site; small ones are somebody's own


def read_request(method: str, body: Any) -> Any:
    """Return what is asked. ValueError where the body does not have the form of this route's request."""
    kind = REQUESTS[method]
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


def written(kind: Any, **fields: Any) -> Json:
    """Return an object of the client's as it is sent."""
    answer: Json = made(kind, **fields).to_dict()
    return answer
