"""Define the null model of `--model offline`."""

from typing import NoReturn

from comind.errors import ModelServiceError
from comind.llm.model_ports import ModelRequest, Usage

OFFLINE = "offline"
"""Model name for campaigns without a language model, which run the baseline alone."""


class RefusingModel:
    """Refuses every request, for work that makes none."""

    name = OFFLINE
    context_tokens = 1_000_000
    reply_tokens = None
    takes_images = False

    def bound(self, request: ModelRequest) -> Usage:
        """Return zero usage."""
        del request
        return Usage()

    def complete(self, request: ModelRequest) -> NoReturn:
        """Raise a ModelServiceError."""
        raise ModelServiceError(
            f"no model is configured for {request.role}",
            hint="name a model with --model, or set OPENAI_BASE_URL",
        )
