"""From settings to Kaggle."""

from comind.kaggle.port import Kaggle
from comind.kaggle.rate_limit import rate_limited
from comind.kaggle.settings import KaggleSettings
from comind.system.timing import ServerClock

__all__ = ["open_kaggle"]


def open_kaggle(settings: KaggleSettings, time: ServerClock | None = None) -> Kaggle:
    """Return the way to Kaggle, with the credentials that its client finds.

    `time` is told with each answer what time it is there.

    Raises:
        UsageError: the endpoint is no address that credentials may be sent to.
        KaggleError: there are no credentials, or they cannot be used.
    """
    from comind.kaggle.client import OfficialKaggle

    return rate_limited(
        OfficialKaggle(settings.endpoint, time.set if time else None), settings.rate_limit
    )
