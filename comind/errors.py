"""Define the exceptions that CoMind raises, with the exit code of the command that they end.

`str(error)` is one line that says what is wrong and where; `hint`, where there is one, says how to fix
it. These errors are never shown to a model as output of its program.
"""

from typing import ClassVar


class ComindError(Exception):
    """Base class of CoMind's exceptions; `error_code` and `exit_code` are part of the command line."""

    error_code: ClassVar[str] = "internal"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(ComindError):
    """Invalid usage or input; message and hint are escaped and truncated to one line."""

    error_code = "usage"
    exit_code = 2

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(_one_line(message), hint=_one_line(hint))


_LINE_LENGTH = 1000


def _one_line(text: str) -> str:
    """Escape control characters, which could break, hide or reverse a line, and truncate."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return shown if len(shown) <= _LINE_LENGTH else f"{shown[:_LINE_LENGTH]} ..."


class UnstatedBudgetError(UsageError):
    """A model costs money, and neither a budget in dollars nor that there is none was stated."""


class CompetitionError(UsageError):
    """A competition folder is incomplete or inconsistent."""

    error_code = "competition"


class KaggleUnknownError(CompetitionError):
    """Kaggle has no such resource, or our account has no access to it."""


class CommunityError(UsageError):
    """A community folder or one of its files cannot be parsed."""

    error_code = "community"


class SubmissionError(UsageError):
    """A submission file cannot be parsed."""

    error_code = "submission"


class CampaignError(UsageError):
    """There is no such campaign, or another process has its lock."""

    error_code = "campaign"


class LiveError(UsageError):
    """An MLE-Live server rejects a request; `reason` is a one-word code such as `over`."""

    error_code = "live"

    def __init__(self, message: str, *, hint: str = "", reason: str = "") -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


class LogError(UsageError):
    """An event log has a record that is corrupt or out of order."""

    error_code = "log"


class DataError(UsageError):
    """Versioned data or a script differs from its recorded hash or result."""

    error_code = "data"


class NoSubmissionError(ComindError):
    """The budget was exhausted before any attempt had a valid submission."""

    error_code = "no-submission"
    exit_code = 3


class ServiceError(ComindError):
    """A service that is required is missing or rejects requests."""

    error_code = "service"
    exit_code = 4


class ModelServiceError(ServiceError):
    """The model's endpoint is unreachable or rejects requests."""

    error_code = "model"


class ModelRefusedError(ModelServiceError):
    """The endpoint rejects a request, and a retry would fail too: key, quota, unknown model.

    `one_request` says whether other requests may be accepted, as only this one may be invalid.
    """

    def __init__(self, message: str, *, hint: str = "", one_request: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.one_request = one_request


class ModelBusyError(ModelServiceError):
    """The endpoint is rate-limited, down or faulty; a retry may succeed.

    `retry_after` is the number of seconds that it asks to wait, None if unknown. `billed` says whether
    it may have processed the request, and so may charge for it.
    """

    def __init__(
        self, message: str, *, hint: str = "", retry_after: float | None = None, billed: bool = True
    ) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after
        self.billed = billed


class SandboxError(ServiceError):
    """No sandbox of the required isolation works on this machine, or a session in it could not start."""

    error_code = "sandbox"


class NodeBusyError(SandboxError):
    """No node has what the session needs, at present; one may have it later."""

    error_code = "node"


class NodeLostError(SandboxError):
    """The node of a session is lost; its work can continue in another session."""

    error_code = "node"

    def __init__(self, message: str, *, node: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.node = node


class GraderError(ServiceError):
    """The grader process has exited or sends invalid answers."""

    error_code = "grader"


class KaggleError(ServiceError):
    """Kaggle, or the server configured in its place, fails a request."""

    error_code = "kaggle"


class KaggleAccountError(KaggleError):
    """Kaggle credentials are `missing`, or else invalid or expired."""

    def __init__(self, message: str, *, hint: str = "", missing: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.missing = missing


class KaggleRefusedError(KaggleError):
    """Kaggle rejects a request, and a retry would fail too until something is changed there."""


class KaggleBusyError(KaggleError):
    """Kaggle limits our rate, is down or faulty; a retry may succeed.

    `retry_after` is the seconds that it asks to wait, None if unknown. `may_have_succeeded` says
    whether the request may have taken effect all the same.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        retry_after: float | None = None,
        may_have_succeeded: bool = True,
    ) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after
        self.may_have_succeeded = may_have_succeeded


class HubError(ServiceError):
    """A hub of models, a server of files or the package index is unreachable, or refuses a request."""

    error_code = "hub"


class DiskError(ServiceError):
    """The disk is full; with space freed, the campaign resumes where it stopped."""

    error_code = "disk"


class OrchestrationError(ServiceError):
    """Prefect, MLflow, DVC or git is missing or fails."""

    error_code = "orchestration"


class ReplyError(ComindError):
    """A model's reply does not match the required schema; the reason is sent back to the model."""

    error_code = "reply"


class ContextError(ReplyError):
    """The prompt exceeds the model's context window; `limit` is its size in tokens, None if unknown."""

    def __init__(self, message: str, *, limit: int | None = None) -> None:
        super().__init__(message)
        self.limit = limit
