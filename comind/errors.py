"""Every error that CoMind raises on purpose, with the exit code of the command that it ends.

Each carries one line of what and where (`str(error)`) and, where there is one, a line that says how
to mend it (`hint`). An error of ours is never shown to a model as its program's output.
"""

from typing import ClassVar

__all__ = [
    "CampaignError",
    "ComindError",
    "CommunityError",
    "CompetitionError",
    "ContextError",
    "DataError",
    "DiskError",
    "GraderError",
    "KaggleAccountError",
    "KaggleBusyError",
    "KaggleError",
    "KaggleRefusedError",
    "KaggleUnknownError",
    "LiveError",
    "LogError",
    "ModelBusyError",
    "ModelRefusedError",
    "ModelServiceError",
    "NoSubmissionError",
    "OrchestrationError",
    "ReplyError",
    "SandboxError",
    "ServiceError",
    "SubmissionError",
    "UsageError",
]


class ComindError(Exception):
    """Anything CoMind raises on purpose; `kind` and `exit_code` are part of the command line."""

    kind: ClassVar[str] = "internal"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(ComindError):
    """Bad usage or input; whatever name or cell it quotes, it is told in one line."""

    kind = "usage"
    exit_code = 2

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(_one_line(message), hint=_one_line(hint))


_LINE_LENGTH = 1000


def _one_line(text: str) -> str:
    """Return `text` with what would break, hide or turn the line around written as an escape."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return shown if len(shown) <= _LINE_LENGTH else f"{shown[:_LINE_LENGTH]} ..."


class CompetitionError(UsageError):
    """A competition folder is missing something or contradicts itself."""

    kind = "competition"


class KaggleUnknownError(CompetitionError):
    """Kaggle knows nothing of this name, or shows it to nobody like us."""


class CommunityError(UsageError):
    """A community folder, or one of its files as a whole, cannot be read as one."""

    kind = "community"


class SubmissionError(UsageError):
    """A file handed in cannot be read as a submission."""

    kind = "submission"


class CampaignError(UsageError):
    """There is no such campaign, or another process is running it."""

    kind = "campaign"


class LiveError(UsageError):
    """A world of MLE-Live refuses what was asked; `reason` is one word of why, such as `over`."""

    kind = "live"

    def __init__(self, message: str, *, hint: str = "", reason: str = "") -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


class LogError(UsageError):
    """A log has a record that was not written by us, or not in this order."""

    kind = "log"


class DataError(UsageError):
    """Versioned data, or a script, is not what was recorded of it."""

    kind = "data"


class NoSubmissionError(ComindError):
    """The budget ended and no attempt had produced a valid submission."""

    kind = "no-submission"
    exit_code = 3


class ServiceError(ComindError):
    """Something we need is missing or refuses."""

    kind = "service"
    exit_code = 4


class ModelServiceError(ServiceError):
    """The model's endpoint is unreachable or refuses (key, quota, unknown model)."""

    kind = "model"


class ModelRefusedError(ModelServiceError):
    """The endpoint refuses, and would refuse the same again: key, quota, unknown model."""


class ModelBusyError(ModelServiceError):
    """The endpoint is busy, down or broken; the same request may get a reply later.

    `retry_after` is how many seconds it asks for, None where it does not say. `billed` tells whether it
    may have worked on the request, and so may charge for it.
    """

    def __init__(
        self, message: str, *, hint: str = "", retry_after: float | None = None, billed: bool = True
    ) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after
        self.billed = billed


class SandboxError(ServiceError):
    """No sandbox of the wanted strength works here, or a session in it could not start."""

    kind = "sandbox"


class GraderError(ServiceError):
    """The grader process is gone or answers nonsense."""

    kind = "grader"


class KaggleError(ServiceError):
    """Kaggle, or whoever speaks in its place, does not do what was asked."""

    kind = "kaggle"


class KaggleAccountError(KaggleError):
    """Credentials for Kaggle are `missing`, or else wrong or expired."""

    def __init__(self, message: str, *, hint: str = "", missing: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.missing = missing


class KaggleRefusedError(KaggleError):
    """Kaggle refuses, and would refuse the same again, until somebody changes something there."""


class KaggleBusyError(KaggleError):
    """Kaggle limits our rate, is down or broken; the same request may get an answer later.

    `retry_after` is how many seconds it asks for, None where it does not say. `perhaps_done` tells
    whether it may have done what was asked, though it did not say so.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        retry_after: float | None = None,
        perhaps_done: bool = True,
    ) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after
        self.perhaps_done = perhaps_done


class DiskError(ServiceError):
    """There is no room to write what has to be kept; with room, everything goes on where it was."""

    kind = "disk"


class OrchestrationError(ServiceError):
    """Prefect, MLflow, DVC or git is missing or refuses."""

    kind = "orchestration"


class ReplyError(ComindError):
    """A model's reply does not have the promised form; the reason goes back to the model."""

    kind = "reply"


class ContextError(ReplyError):
    """The conversation is longer than the model can read; `limit` is in tokens, None where not said."""

    def __init__(self, message: str, *, limit: int | None = None) -> None:
        super().__init__(message)
        self.limit = limit
