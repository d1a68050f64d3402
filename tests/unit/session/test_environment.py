"""The environment of a program in a sandbox."""

from pathlib import Path

import pytest

from comind.session.program import environment


@pytest.mark.parametrize("name", ["KAGGLE_API_TOKEN", "KAGGLE_KEY", "KAGGLE_USERNAME", "OPENAI_API_KEY"])
def test_no_key_of_ours(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of our own environment is inherited, in particular no keys."""
    monkeypatch.setenv(name, "k3y")
    given = environment("/usr/bin/python3", Path("/home"), {"OMP_NUM_THREADS": "1"})
    assert name not in given
    assert "k3y" not in given.values()
