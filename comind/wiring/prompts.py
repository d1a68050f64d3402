"""All prompts that a campaign may use, as one hash."""

import hashlib
from functools import cache

from comind.llm.templates import Templates

__all__ = ["prompts_sha256"]

_PLATFORM = ("comind.authoring", "comind.campaign", "comind.llm")


@cache
def prompts_sha256(agent: tuple[str, ...]) -> str:
    """Return one hash over the platform's prompt files and those of an agent's packages."""
    whole = "".join(Templates(package).sha256 for package in (*agent, *_PLATFORM))
    return hashlib.sha256(whole.encode()).hexdigest()
