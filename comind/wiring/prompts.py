"""All prompts that a campaign may use, as one hash."""

import hashlib
from functools import cache

from comind.llm.templates import Templates

__all__ = ["prompts_sha256"]

_PACKAGES = ("comind.agents.comind", "comind.authoring", "comind.campaign", "comind.llm")


@cache
def prompts_sha256() -> str:
    """Return one hash over the prompt files of every package that has some."""
    whole = "".join(Templates(package).sha256 for package in _PACKAGES)
    return hashlib.sha256(whole.encode()).hexdigest()
