"""Send alerts about campaigns and followed competitions to a webhook or by e-mail."""

import os
import smtplib
from email.message import EmailMessage
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from comind.domain.value import Value
from comind.errors import OrchestrationError, UsageError

__all__ = ["EVENTS", "Alert", "AlertEvent", "AlertParams", "EmailParams", "send"]

AlertEvent = Literal["failed", "new_best", "ended", "waiting", "deadline", "changed"]
EVENTS: tuple[AlertEvent, ...] = ("failed", "new_best", "ended", "waiting", "deadline", "changed")
"""The last three are about followed competitions: a submission waits for approval, the deadline is near
or has moved, rules or data have changed."""

_SECONDS = 5.0  # to connect, and again until the answer
_REFUSED = 300  # and above: a webhook has no redirects


class EmailParams(Value):
    """An SMTP server, and the addresses of alerts."""

    to: Annotated[tuple[str, ...], Field(min_length=1)]
    sender: str
    host: str
    port: int = 587
    encryption: Literal["starttls", "tls", "none"] = "starttls"
    user: str | None = None
    password_variable: str | None = None
    """Name of the environment variable with the user's password."""

    @model_validator(mode="after")
    def _sends_no_plain_password(self) -> Self:
        if self.user is not None and self.encryption == "none":
            raise ValueError("'user' requires encryption")
        if (self.user is None) != (self.password_variable is None):
            raise ValueError("'user' and 'password_variable' require each other")
        return self


class AlertParams(Value):
    """Channels of alerts, and the events that cause one."""

    events: tuple[AlertEvent, ...] = EVENTS
    webhook: str | None = Field(default=None, pattern=r"^https?://")
    webhook_variable: str | None = None
    """Name of the environment variable with the webhook's URL, where that is a secret."""
    email: EmailParams | None = None

    @property
    def channels(self) -> "tuple[str | EmailParams, ...]":
        """The webhook's URL and the e-mail settings, as far as they are set.

        Raises:
            UsageError: an environment variable is missing.
        """
        url = self.webhook
        if self.webhook_variable is not None:
            url = _from_environment(self.webhook_variable, "webhook_variable")
        if self.email is not None and self.email.password_variable is not None:
            _from_environment(self.email.password_variable, "email.password_variable")
        return tuple(each for each in (url, self.email) if each is not None)


class Alert(Value):
    """Content of an alert; a webhook gets it as JSON."""

    id: str
    """The same for each delivery of one alert."""
    event: AlertEvent
    campaign: str = ""
    """Empty in alerts about a followed competition, as are the next ones."""
    agent: str = ""
    model: str = ""
    competition: str
    text: str
    """In one line; Slack and others show it."""
    attempt: str | None = None
    """The best attempt."""
    score: float | None = None
    """Validation score of the best attempt."""
    metric: str | None = None
    seconds: float = 0.0
    usd: float = 0.0


def send(alert: Alert, channel: str | EmailParams) -> None:
    """Send an alert to a webhook's URL, or by e-mail.

    Raises:
        OrchestrationError: the server is not reached in 5 seconds, or refuses; without secrets.
    """
    try:
        if isinstance(channel, str):
            _post(alert, channel)
        else:
            _mail(alert, channel)
    except (OSError, smtplib.SMTPException) as error:
        raise OrchestrationError(f"the mail server refuses: {error or type(error).__name__}") from None


def _post(alert: Alert, url: str) -> None:
    import requests  # takes a tenth of a second

    try:
        answer = requests.post(url, json=alert.model_dump(), timeout=_SECONDS, allow_redirects=False)
    except requests.RequestException as error:  # its text has the URL, which may be a secret
        raise OrchestrationError(f"the webhook is not reached: {type(error).__name__}") from None
    if answer.status_code >= _REFUSED:
        raise OrchestrationError(f"the webhook answers {answer.status_code}")


def _mail(alert: Alert, params: EmailParams) -> None:
    message = EmailMessage()
    message["Subject"] = f"CoMind: {alert.text}"[:200]
    message["From"], message["To"] = params.sender, ", ".join(params.to)
    message["Message-ID"] = f"<{alert.id}@comind>"
    facts = alert.model_dump(exclude={"id", "text"}, exclude_none=True).items()
    message.set_content("\n".join([alert.text, "", *(f"{name}: {value}" for name, value in facts)]))
    client = smtplib.SMTP_SSL if params.encryption == "tls" else smtplib.SMTP
    with client(params.host, params.port, timeout=_SECONDS) as server:
        if params.encryption == "starttls":
            server.starttls()
        if params.user is not None and params.password_variable is not None:
            server.login(params.user, os.environ.get(params.password_variable, ""))
        server.send_message(message)


def _from_environment(name: str, key: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        raise UsageError(f"params.yaml: alerts.{key}: the environment has no variable {name}")
    return value
