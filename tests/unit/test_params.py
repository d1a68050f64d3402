"""params.yaml, its defaults in code, and former keys."""

from pathlib import Path

import pytest
import yaml

from comind.app.params import Params, read_params
from comind.errors import UsageError
from comind.nodes.pool_plug_in import NodeSettings

_ROOT = Path(__file__).parents[2]


def test_the_file_holds_the_defaults() -> None:
    """The defaults in code equal the values of params.yaml."""
    written = yaml.safe_load((_ROOT / "params.yaml").read_text())
    written.pop("profiles", None)
    assert NodeSettings.model_validate(written.pop("nodes")) == NodeSettings()
    assert Params.model_validate(written) == Params()


def test_former_keys_that_are_null_set_nothing(tmp_path: Path) -> None:
    """The file of version 0.2.0, as it was shipped, is read; a value of a former key is refused."""
    path = tmp_path / "params.yaml"
    path.write_text("alerts: {events: [failed], webhook: null, webhook_variable: null, email: null}\n")
    assert read_params(tmp_path).alerts.urls == ()
    path.write_text("alerts: {webhook: 'https://example.org'}\n")
    with pytest.raises(UsageError, match="webhook is no key any more: write urls"):
        read_params(tmp_path)


def test_parameters_of_the_agent_are_joined_by_name(tmp_path: Path) -> None:
    """Those given replace a profile's one by one; another agent has none of them."""
    profiles = {"mine": {"agent": "aide", "set": {"drafts": 2, "nodes": 9}}}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump({"profiles": profiles}))
    params = read_params(tmp_path).with_profile("mine")
    assert params.with_solve({"set": {"nodes": 4}}).solve.set == {"drafts": 2, "nodes": 4}
    other = params.with_solve({"agent": "greedy", "set": {"programs": 3}})
    assert other.solve.set == {"programs": 3}
