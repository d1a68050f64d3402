"""What holds for every test: no telemetry, no keys, the same random numbers every time."""

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "comind",
    derandomize=True,  # the same examples in every run: CI must not depend on luck
    deadline=None,  # machines are noisy; time is measured in benchmarks/
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("comind")

_SECRETS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "KAGGLE_KEY", "KAGGLE_API_TOKEN", "COMIND_KILL_AT")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key or setting of the developer's shell never reaches a test."""
    for name in _SECRETS:
        monkeypatch.delenv(name, raising=False)
    for name in [name for name in os.environ if name.startswith("COMIND_")]:
        monkeypatch.delenv(name)
