"""In place of a language model where none is configured: `--model offline`."""

from typing import NoReturn

from comind.errors import ModelServiceError
from comind.llm.base import ModelRequest, Usage

__all__ = ["OFFLINE", "RefusingModel"]

OFFLINE = "offline"
"""The word for no language model: the platform's baseline runs alone."""


class RefusingModel:
    """Refuses every request; work that asks no model needs nothing else."""

    name = OFFLINE
    context_tokens = 1_000_000
    reply_tokens = None

    def bound(self, request: ModelRequest) -> Usage:
        """Return that nothing is spent."""
        del request
        return Usage()

    def complete(self, request: ModelRequest) -> NoReturn:
        """Refuse with a ModelServiceError."""
        raise ModelServiceError(
            f"no model is configured for {request.role}",
            hint="name a model with --model, or set OPENAI_BASE_URL",
        )
