"""The file of defaults and the program's own agree."""

from pathlib import Path

import yaml

from flows.params import Params

_ROOT = Path(__file__).parents[2]


def test_the_file_holds_the_defaults() -> None:
    """Without params.yaml, everything is as params.yaml says."""
    written = yaml.safe_load((_ROOT / "params.yaml").read_text())
    written.pop("profiles", None)
    assert Params.model_validate(written) == Params()
