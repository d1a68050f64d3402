"""Sessions are opened on this machine, or by the plug-in for pools."""

import subprocess
import sys
from pathlib import Path

import pytest

from comind.campaign.log.campaign_folders import CampaignFolder
from comind.errors import UsageError
from comind.system import plug_ins
from comind.wiring.local_sessions import LocalSessions
from comind.wiring.session_provider import load_pools, provide_sessions
from tests.unit.campaign.samples import spec

_WITHOUT = """
import sys
from pathlib import Path

class Absent:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == sys.argv[1]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from comind.errors import ServiceError
from comind.wiring.session_provider import load_pools
try:
    load_pools()
except ServiceError as error:
    print(error, error.hint, sep="\\n")
"""


def test_a_campaign_without_a_pool_has_sessions_on_this_machine(tmp_path: Path) -> None:
    """No plug-in is loaded, and its settings are not read."""
    with provide_sessions(CampaignFolder(tmp_path / "c1"), spec(), {"no": "setting"}) as sessions:
        assert isinstance(sessions, LocalSessions)


@pytest.mark.parametrize("package", ["botocore", "cryptography", "websockets"])
def test_a_missing_package_of_the_plug_in_names_its_extra(package: str) -> None:
    """The error is one line, and its hint installs the extra."""
    ran = subprocess.run(
        [sys.executable, "-c", _WITHOUT, package], capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines() == [
        f"the package {package} is needed for this, and is not installed",
        "pip install 'comind-pipeline[nodes]'",
    ]


def test_a_pool_without_a_plug_in_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no distribution declares one, CoMind itself is not installed."""
    monkeypatch.setattr(plug_ins, "entry_points", lambda **_: ())
    plug_ins.declared.cache_clear()
    try:
        with pytest.raises(UsageError, match="no plug-in for sessions 'pool' is installed") as caught:
            load_pools()
    finally:
        plug_ins.declared.cache_clear()
    assert caught.value.hint == "CoMind itself is not installed: pip install --no-deps ."


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"prot": 7443}, "params.yaml: nodes: there is no key 'prot'; did you mean port?"),
        ({"port": 99999}, "params.yaml: nodes: port: input should be less than 65536"),
    ],
)
def test_a_wrong_setting_of_nodes_is_refused(
    tmp_path: Path, settings: dict[str, object], line: str
) -> None:
    """An unknown key or a value out of range is one line, before anything is requested."""
    with (
        pytest.raises(UsageError) as caught,
        provide_sessions(CampaignFolder(tmp_path / "c1"), spec(pool="gpu"), settings),
    ):
        pass
    assert str(caught.value) == line
    assert not (tmp_path / "c1").exists()
