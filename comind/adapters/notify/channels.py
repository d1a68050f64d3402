"""Send an alert to the service that a URL names; the one module that imports apprise."""

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from string import Template
from urllib.parse import quote

from apprise import Apprise, AppriseAsset, NotifyFormat, NotifyType
from apprise.plugins.custom_json import NotifyJSON
from apprise.plugins.email.base import NotifyEmail

from comind.adapters.notify.alert_params import AlertEvent
from comind.domain.value import Value
from comind.errors import OrchestrationError, UsageError
from comind.system.redaction import read_key

_SERVICES = "https://appriseit.com/services/"
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_STATUS = re.compile(r"error=(\d+)")
_TITLE_LENGTH = 200


class Alert(Value):
    """Content of an alert; a program at `json://` gets these fields."""

    id: str
    """The same for each delivery of one alert."""
    event: AlertEvent
    campaign: str = ""
    """Empty in alerts about a followed competition, as are the next ones."""
    agent: str = ""
    model: str = ""
    competition: str
    text: str
    """In one line."""
    attempt: str | None = None
    """The best attempt."""
    score: float | None = None
    """Validation score of the best attempt."""
    metric: str | None = None
    seconds: float = 0.0
    usd: float = 0.0


class Channel:
    """A service that takes alerts."""

    def __init__(self, url: str, key: str, *, backoff_seconds: float = 2.0) -> None:
        """Parse the `url` that `params.yaml` has at `key`; connects to nothing.

        Raises:
            UsageError: the URL is of no service, or an environment variable is missing; without secrets.
        """
        whole = _expanded(url, key)
        asset = AppriseAsset(
            app_id="CoMind",
            app_desc="CoMind",
            app_url="",
            image_url_mask="",  # else chats fetch apprise's images from GitHub
            image_url_logo="",
            async_mode=False,
            http_redirects=False,  # a redirected POST is a GET that delivers nothing
            default_service_retry=1,
            default_service_wait=backoff_seconds,
        )
        with _captured():
            plugin = Apprise.instantiate(whole, asset=asset)
        if plugin is None:
            scheme = _SCHEME.match(whole)
            raise UsageError(
                f"params.yaml: {key}: apprise knows no service for this URL"
                + (f" of {scheme[1]}://" if scheme else ", which starts with none, such as slack://"),
                hint=f"{_SERVICES} lists them; a program that takes JSON is jsons://HOST/PATH",
            )
        if isinstance(plugin, NotifyEmail) and plugin.password and plugin.secure_mode == "insecure":
            raise UsageError(f"params.yaml: {key}: a password is sent with encryption alone: mailtos://")
        self.name: str = plugin.url(privacy=True).partition(":")[0]  # type: ignore[no-untyped-call]
        """Scheme of the URL, such as `slack`."""
        self._plugin = plugin
        self._apprise = Apprise(plugin, asset=asset)

    def send(self, alert: Alert) -> None:
        """Send an alert, with one more try.

        Raises:
            OrchestrationError: the service is not reached, or refuses; without secrets.
        """
        if isinstance(self._plugin, NotifyJSON):
            self._plugin.payload_extras.update(alert.model_dump())
        shown = alert.model_dump(exclude={"id", "text"}, exclude_defaults=True)
        with _captured() as messages:
            taken = self._apprise.notify(
                title=alert.text[:_TITLE_LENGTH],
                body="\n".join(f"{key}: {fact}" for key, fact in shown.items()),
                notify_type=NotifyType.FAILURE if alert.event == "failed" else NotifyType.INFO,
                body_format=NotifyFormat.TEXT,
            )
        if not taken:
            status = _STATUS.findall(" ".join(messages))
            reason = f"answers {status[-1]}" if status else "is not reached, or refuses"
            raise OrchestrationError(f"{self.name}: the service {reason}")


def _expanded(url: str, key: str) -> str:
    """Replace `$NAME` by the environment's value, percent-encoded where it is a part of the URL."""
    template = Template(url)
    values = {name: read_key(name) or "" for name in template.get_identifiers()}
    for name, value in values.items():
        if not value:
            raise UsageError(f"params.yaml: {key}: the environment has no variable {name}")
        if url in (f"${name}", f"${{{name}}}"):
            return value
    return template.substitute({name: quote(value, safe="") for name, value in values.items()})


@contextmanager
def _captured() -> Iterator[list[str]]:
    """Yield what apprise and urllib3 log in this thread; as it has URLs, no handler gets it."""
    thread, messages = threading.get_ident(), list[str]()

    def passes(record: logging.LogRecord) -> bool:
        if threading.get_ident() == thread:
            messages.append(record.getMessage())
        return threading.get_ident() != thread

    loggers = [logging.getLogger(name) for name in ("apprise", "urllib3.connectionpool")]
    for each in loggers:
        each.addFilter(passes)
    try:
        yield messages
    finally:
        for each in loggers:
            each.removeFilter(passes)
