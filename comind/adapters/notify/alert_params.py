"""The section `alerts` of `params.yaml`."""

from string import Template
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, SecretStr, model_validator

from comind.domain.value import Value

AlertEvent = Literal["failed", "new_best", "ended", "waiting", "deadline", "changed"]
"""The last three are about followed competitions: a submission waits for approval, the deadline is near
or has moved, rules or data have changed."""

_FORMER = {
    "webhook": "write urls: [jsons://host/path]; slack and discord take the https:// url that they show",
    "webhook_variable": "write urls: [$name] with the variable that holds it, for json as jsons://host/path",
    "email": "write urls: ['mailtos://user:$variable@host?from=address&to=address']",
}
"""What replaces a key of the versions before; in small letters, as `validate_input` shows it."""


def _names_variables(url: SecretStr) -> SecretStr:
    if not Template(url.get_secret_value()).is_valid():
        raise ValueError("a dollar sign that starts no name of a variable is written $$")
    return url


class AlertParams(Value):
    """Services that get alerts, and the events that cause one."""

    events: tuple[AlertEvent, ...] = get_args(AlertEvent)
    urls: tuple[Annotated[SecretStr, AfterValidator(_names_variables)], ...] = ()
    """URLs of apprise; `$NAME` is an environment variable, for a part of a URL or for all of it."""

    @model_validator(mode="before")
    @classmethod
    def _has_no_former_key(cls, values: object) -> object:
        if not isinstance(values, dict):
            return values
        for key, now in _FORMER.items():
            if values.get(key) is not None:
                raise ValueError(f"{key} is no key any more: {now}")
        # The params.yaml of former versions has them as null.
        return {key: value for key, value in values.items() if key not in _FORMER}

    @property
    def variables(self) -> set[str]:
        """Names of the environment variables in the URLs."""
        return {name for url in self.urls for name in Template(url.get_secret_value()).get_identifiers()}
