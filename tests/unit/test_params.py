"""params.yaml, its defaults in code, and former keys."""

from pathlib import Path

import pytest
import yaml

from comind.app.params import Params, read_params
from comind.nodes.pool_plug_in import NodeSettings

_ROOT = Path(__file__).parents[2]


def test_the_file_holds_the_defaults() -> None:
    """The defaults in code equal the values of params.yaml."""
    written = yaml.safe_load((_ROOT / "params.yaml").read_text())
    written.pop("profiles", None)
    assert NodeSettings.model_validate(written.pop("nodes")) == NodeSettings()
    assert Params.model_validate(written) == Params()


def test_a_former_key_is_read_with_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A renamed key is read for one version, with one warning that names the new key."""
    path = tmp_path / "params.yaml"
    path.write_text("kaggle: {manners: {pause_seconds: 7}}\n")
    for _ in range(2):
        assert read_params(tmp_path).kaggle.rate_limit.pause_seconds == 7
    told = f"comind: warning: {path}: kaggle.manners is kaggle.rate_limit now"
    assert capsys.readouterr().err.count(told) == 1
