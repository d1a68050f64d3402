"""`comind live serve` validates its options before it loads any competition."""

from pathlib import Path

import pytest

from comind.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--as-of", "yesterday"], "as-of time 'yesterday'"),
        (["--as-of", "2023-04-01T00:00:00"], "has no zone"),
        (["--speed", "2"], "--speed goes with --as-of"),
        (["--as-of", "none", "--speed", "2"], "--speed goes with --as-of"),
        (["--as-of", "2023-04-01T00:00:00Z", "--speed", "-2"], "must be finite and not negative"),
        (["--user", "ann"], "is not NAME:KEY"),
        (["--data", "."], "contains no competition folders"),
    ],
)
def test_bad_usage_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    """Bad usage is one line that names the option."""
    monkeypatch.chdir(tmp_path)
    assert main(["live", "serve", "--out", str(tmp_path), *arguments]) == 2
    assert said in capsys.readouterr().err.splitlines()[0]
