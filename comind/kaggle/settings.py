"""Define the settings of `kaggle` in `params.yaml`; credentials are not among them."""

from pydantic import Field

from comind.domain.value import Value


class FetchLimits(Value):
    """Maximum numbers of new items per fetch; the next fetch continues."""

    notebooks: int = Field(default=40, ge=0)
    discussions: int = Field(default=40, ge=0)
    datasets: int = Field(default=20, ge=0)
    outputs: int = Field(default=10, ge=0)
    """Notebooks whose `submission.csv` is fetched, the best first."""
    files_mb: float = Field(default=500, ge=0)
    """Most megabytes of files of datasets and notebooks; a dataset that does not fit has no files."""


class RateLimit(Value):
    """Rate limit and retries of requests to Kaggle."""

    pause_seconds: float = Field(default=1, ge=0)
    """Between two requests."""
    tries: int = Field(default=6, ge=1)
    """Attempts of one request."""
    back_off_seconds: float = Field(default=2, ge=0)
    """Pause before the first retry; it doubles with each. A Retry-After takes its place."""
    longest_wait_seconds: float = Field(default=300, gt=0)
    """Longest pause; a request is not retried after a longer Retry-After."""


class KaggleSettings(Value):
    """Address, rate limit and size of a fetch."""

    endpoint: str | None = None
    """Another server of Kaggle's API, such as `comind live serve`; None: Kaggle."""
    rate_limit: RateLimit = RateLimit()
    wanted: FetchLimits = FetchLimits()
