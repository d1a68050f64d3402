"""How Kaggle is asked, as `params.yaml` says it; credentials are no setting, the client finds them."""

from comind.domain.value import Value
from comind.kaggle.community_fetch import Wanted
from comind.kaggle.rate_limit import RateLimit

__all__ = ["KaggleSettings"]


class KaggleSettings(Value):
    """Where Kaggle is, how politely it is asked, and how much of a community is wanted."""

    endpoint: str | None = None
    """Another server that speaks Kaggle's language, such as `comind live serve`; None for Kaggle."""
    rate_limit: RateLimit = RateLimit()
    wanted: Wanted = Wanted()
