"""From settings to Kaggle."""

from comind.kaggle.polite import PoliteKaggle
from comind.kaggle.settings import KaggleSettings

__all__ = ["open_kaggle"]


def open_kaggle(settings: KaggleSettings) -> PoliteKaggle:
    """Return the way to Kaggle, with the credentials that its client finds.

    Raises:
        UsageError: the endpoint is no address that credentials may be sent to.
        KaggleError: there are no credentials, or they cannot be used.
    """
    from comind.kaggle.client import OfficialKaggle

    return PoliteKaggle(OfficialKaggle(settings.endpoint), settings.manners)
