"""Keys of the environment are in no text that is logged or kept."""

from operator import getitem

import pytest

from comind.system.redaction import read_key, redact, traceback_of

_KEY = "canary/of+a key"


@pytest.mark.parametrize(
    "variable", ["OPENAI_API_KEY", "KAGGLE_KEY", "HF_TOKEN", "aws_secret", "PREFECT_API_AUTH_STRING"]
)
def test_a_variable_of_a_key_is_known_by_its_name(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its value is replaced, also where it is percent-encoded."""
    monkeypatch.setenv(variable, _KEY)
    assert redact(f"sent {_KEY} to /?key=canary%2Fof%2Ba%20key") == "sent [key] to /?key=[key]"


def test_a_variable_that_settings_name_is_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its name is, once it was read."""
    monkeypatch.setenv("MY_MODEL", _KEY)
    assert redact(_KEY) == _KEY
    assert read_key("MY_MODEL") == _KEY
    assert redact(_KEY) == "[key]"


def test_the_password_of_a_url_is_replaced() -> None:
    """Such as that of a proxy or a database."""
    assert (
        redact("http://ann:pw@host/a and http://host:80/") == "http://[key]@host/a and http://host:80/"
    )


def test_short_values_are_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A word such as `any` is part of other texts."""
    monkeypatch.setenv("KAGGLE_KEY", "any")
    assert redact("any column") == "any column"


def test_a_traceback_is_bounded_and_has_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last part is kept, which has the line that raised and the message."""
    monkeypatch.setenv("OPENAI_API_KEY", _KEY)
    with pytest.raises(KeyError) as raised:
        getitem({}, "x" * 10_000 + _KEY)
    kept = traceback_of(raised.value)
    assert len(kept) <= 8_000
    assert kept.endswith("x[key]'")
