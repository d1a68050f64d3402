"""params.yaml, its defaults in code, and former keys."""

from pathlib import Path

import yaml

from comind.app.params import Params
from comind.nodes.pool_plug_in import NodeSettings

_ROOT = Path(__file__).parents[2]


def test_the_file_holds_the_defaults() -> None:
    """The defaults in code equal the values of params.yaml."""
    written = yaml.safe_load((_ROOT / "params.yaml").read_text())
    written.pop("profiles", None)
    assert NodeSettings.model_validate(written.pop("nodes")) == NodeSettings()
    assert Params.model_validate(written) == Params()
