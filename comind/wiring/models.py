"""Which model a name stands for."""

import os
from pathlib import Path

from comind.errors import ModelServiceError, UsageError
from comind.llm.base import ChatModel
from comind.llm.offline import OfflineModel

__all__ = ["OFFLINE", "build_model", "configured_model"]

OFFLINE = "offline"

_SCRIPTED = "scripted:"
_DEFAULT_AT_OPENAI = "gpt-5-mini"


def build_model(name: str) -> ChatModel:
    """Return the model of that name.

    `offline` needs no endpoint; `scripted:FILE` answers from a file; any other name is a model at the
    endpoint that `OPENAI_BASE_URL` and `OPENAI_API_KEY` tell of.

    Raises:
        UsageError: the script does not exist.
        ModelServiceError: neither a base URL nor a key is set.
    """
    if name == OFFLINE:
        return OfflineModel()
    if name.startswith(_SCRIPTED):
        from comind.testing.model import ScriptedModel

        path = Path(name.removeprefix(_SCRIPTED))
        if not path.is_file():
            raise UsageError(f"{path}: there is no such script")
        return ScriptedModel.from_file(path)
    base_url, key = os.environ.get("OPENAI_BASE_URL"), os.environ.get("OPENAI_API_KEY")
    if not base_url and not key:
        raise ModelServiceError(
            f"no endpoint for the model {name}",
            hint="set OPENAI_API_KEY or OPENAI_BASE_URL, or use --model offline",
        )
    from comind.llm.openai_model import OpenAIModel

    return OpenAIModel(name, base_url=base_url or None, api_key=key)


def configured_model() -> str:
    """Return the model to use when none is named: that of the configured endpoint, else `offline`.

    Raises:
        ModelServiceError: the configured endpoint does not say which models it has.
    """
    base_url, key = os.environ.get("OPENAI_BASE_URL"), os.environ.get("OPENAI_API_KEY")
    if base_url:
        from comind.llm.openai_model import first_model

        return first_model(base_url, key)
    return _DEFAULT_AT_OPENAI if key else OFFLINE
