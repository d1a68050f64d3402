"""Resolve model names and roles to settings, and build their clients."""

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from comind.campaign.agent import Role
from comind.campaign.work.text_ranking import EMBEDDINGS_ROLE
from comind.errors import ModelServiceError, UsageError
from comind.llm.model_ports import ChatModel, Embedder
from comind.llm.offline import OFFLINE, RefusingModel
from comind.llm.settings import ASSUMED_CONTEXT, ModelSettings
from comind.system.redaction import read_key

DEFAULT = "default"

_PLATFORM_ROLES = {
    "evaluator": Role("writes split and metric of a competition that names none"),
    "monitor": Role("says whether a running cell should be stopped"),
    EMBEDDINGS_ROLE: Role("embeds texts that are ranked by a query"),
}

_SCRIPTED, _RECORDED = "scripted:", "recorded:"
_DEFAULT_AT_OPENAI = "gpt-5-mini"


def build_model(name: str, settings: ModelSettings = ModelSettings()) -> ChatModel:  # noqa: B008 - frozen
    """Build the model of a name.

    `offline` refuses every request; `scripted:FILE` replies by the rules of a file; `recorded:DEMO` by
    those of a built-in demo, which were recorded from a real model; any other name is a model at the
    endpoint of its settings, else at that of `OPENAI_BASE_URL` and `OPENAI_API_KEY`.

    Raises:
        UsageError: the script or the recording does not exist.
        ModelServiceError: neither a base URL nor a key is set.
    """
    if name == OFFLINE:
        return RefusingModel()
    if name.startswith(_SCRIPTED):
        from comind.testing.model import ScriptedModel

        path = Path(name.removeprefix(_SCRIPTED))
        if not path.is_file():
            raise UsageError(f"{path}: there is no such script")
        return ScriptedModel.from_file(path)
    if name.startswith(_RECORDED):
        from comind.demos.make import recordings
        from comind.testing.model import ScriptedModel

        known = recordings()
        if name.removeprefix(_RECORDED) not in known:
            named = ", ".join(f"{_RECORDED}{each}" for each in known)
            raise UsageError(f"--model {name}: there is no such recording", hint=f"one of {named}")
        return ScriptedModel.from_file(known[name.removeprefix(_RECORDED)], name=name, usage=None)
    base_url, key = _known_endpoint(name, settings)
    from comind.llm.openai_model import OpenAIModel

    return OpenAIModel(name, base_url=base_url, api_key=key, settings=settings)


def build_embedder(models: Mapping[str, ModelSettings]) -> Embedder | None:
    """Build the model for embeddings; None where none is configured. Raises as `build_model`."""
    settings = models.get(EMBEDDINGS_ROLE, ModelSettings())
    if settings.name in (None, OFFLINE):
        return None
    base_url, key = _known_endpoint(settings.name, settings)
    from comind.llm.openai_embedder import OpenAIEmbedder

    return OpenAIEmbedder(settings.name, base_url=base_url, api_key=key, settings=settings)


def default_model() -> str:
    """Return the default model: the first of the configured endpoint, else `offline`.

    Raises:
        ModelServiceError: the configured endpoint does not list its models.
    """
    base_url, key = os.environ.get("OPENAI_BASE_URL"), os.environ.get("OPENAI_API_KEY")
    if base_url:
        from comind.llm.connection import listed_models

        return listed_models(base_url, key)[0].name
    return _DEFAULT_AT_OPENAI if key else OFFLINE


def resolve_settings(
    model: str,
    models: Mapping[str, ModelSettings],
    roles: Mapping[str, Role],
    others: Collection[str] = (),
) -> dict[str, ModelSettings]:
    """Resolve the settings of a campaign's roles, with name and context window of every model.

    The campaign records them, so that it resumes with the same models. Settings that are not set for a
    role are inherited: from `default` first, else from the agent. A role with another model inherits
    nothing from `default`; embeddings inherit only its endpoint, and have no model unless it is named.
    `others` are roles of other agents, whose settings in `models` are ignored.

    Raises:
        UsageError: `models` has an unknown role.
    """
    roles = {**roles, **_PLATFORM_ROLES}
    unknown = sorted(set(models) - {DEFAULT, *roles, *others})
    if unknown:
        known = ", ".join([DEFAULT, *roles])
        raise UsageError(f"params.yaml: solve.models: no role {unknown[0]!r}", hint=f"one of {known}")
    default = models.get(DEFAULT, ModelSettings())
    if default.name not in (None, model):
        default = ModelSettings()  # these settings are for another model
    found = {DEFAULT: _complete(default, model)}
    embeddings = models.get(EMBEDDINGS_ROLE, ModelSettings())
    if embeddings.name:
        shared = set() if embeddings.base_url else {"base_url", "key_variable"}
        given = default.model_dump(include=shared) | embeddings.model_dump(exclude_unset=True)
        found[EMBEDDINGS_ROLE] = ModelSettings.model_validate(given)
    for role, agents_own in roles.items():
        if role == EMBEDDINGS_ROLE:
            continue
        own = models.get(role, ModelSettings()).model_dump(exclude_unset=True)
        given = agents_own.settings.model_dump(exclude_unset=True)
        if own or given:
            inherited = {} if own.get("name") not in (None, model) else default.model_dump()
            explicit = default.model_dump(exclude_unset=True) if inherited else {}
            settings = ModelSettings.model_validate(inherited | given | explicit | own)
            found[role] = _complete(settings, own.get("name") or model)
    return found


def settings_for(role: str, models: Mapping[str, ModelSettings], model: str) -> ModelSettings:
    """Return the settings of a role's model."""
    return models.get(role) or models.get(DEFAULT) or ModelSettings(name=model)


def is_offline(model: str, models: Mapping[str, ModelSettings]) -> bool:
    """Return whether no role has a language model."""
    names = [each.name for role, each in models.items() if role != EMBEDDINGS_ROLE]
    return all(name in (None, OFFLINE) for name in (model, *names))


def context_warnings(models: Mapping[str, ModelSettings]) -> list[str]:
    """Return a warning for each language model whose context window is unknown."""
    unknown: dict[str, str] = {}
    for role, settings in models.items():
        name = settings.name or OFFLINE
        real = role != EMBEDDINGS_ROLE and name != OFFLINE
        real = real and not name.startswith((_SCRIPTED, _RECORDED))
        if real and settings.context_tokens is None:
            unknown.setdefault(name, role)
    return [
        f"the context window of the model {name} is not known: {ASSUMED_CONTEXT} tokens are assumed "
        f"until it refuses more; set solve.models.{role}.context_tokens in params.yaml"
        for name, role in unknown.items()
    ]


def uses_recordings(models: Mapping[str, ModelSettings]) -> bool:
    """Return whether a role's replies are recorded."""
    return any((each.name or "").startswith(_RECORDED) for each in models.values())


def _complete(settings: ModelSettings, name: str) -> ModelSettings:
    context = settings.context_tokens or _context_of(name, settings)
    return settings.model_copy(update={"name": name, "context_tokens": context})


def _context_of(name: str, settings: ModelSettings) -> int | None:
    """Return a model's context window in tokens, from its endpoint or the price list, or None."""
    if name == OFFLINE or name.startswith((_SCRIPTED, _RECORDED)):
        return None
    from comind.llm.connection import served_context
    from comind.llm.costs import known_context

    base_url, key = _endpoint(settings)
    served = served_context(base_url, key, name) if base_url else None
    return served or known_context(name)


def _known_endpoint(name: str, settings: ModelSettings) -> tuple[str | None, str | None]:
    base_url, key = _endpoint(settings)
    if not base_url and not key:
        raise ModelServiceError(
            f"no endpoint for the model {name}",
            hint=f"set {settings.key_variable} or OPENAI_BASE_URL, or use --model offline",
        )
    return base_url, key


def _endpoint(settings: ModelSettings) -> tuple[str | None, str | None]:
    base_url = settings.base_url or os.environ.get("OPENAI_BASE_URL")
    return base_url or None, read_key(settings.key_variable)
