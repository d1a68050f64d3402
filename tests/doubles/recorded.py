"""Replay the replies of a model from the logs of work."""

from pathlib import Path

from comind.campaign.log.work_state import WORK_LOG
from comind.errors import ModelServiceError
from comind.llm.model_ports import ModelReply, ModelRequest, Usage

__all__ = ["RecordedReplies"]


class RecordedReplies:
    """Replies to each request with the reply that was recorded for the same request.

    `requests` holds the requests in order.
    """

    reply_tokens: int | None = None
    takes_images = False

    def __init__(self, *logs: Path, name: str = "recorded", context_tokens: int = 128_000) -> None:
        """Read the logs of work.

        Prompts depend on the `context_tokens` of the recorded model, not on its name.

        Raises:
            LogError: a log was changed.
        """
        self.name = name
        self.context_tokens = context_tokens
        self.requests: list[ModelRequest] = []
        self._replies: dict[str, ModelReply] = {}
        for log in logs:
            for call in WORK_LOG.read(log).calls:
                if call.reply is not None:
                    self._replies[call.fingerprint] = call.reply

    def bound(self, request: ModelRequest) -> Usage:
        """Return the usage of the recorded reply."""
        reply = self._replies.get(request.fingerprint())
        return reply.usage if reply else Usage()

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return the recorded reply.

        Raises:
            ModelServiceError: this request was not recorded.
        """
        self.requests.append(request)
        reply = self._replies.get(request.fingerprint())
        if reply is None:
            raise ModelServiceError(f"no reply to this request of {request.role} is recorded")
        return reply
