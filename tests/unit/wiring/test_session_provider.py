"""Sessions are opened on this machine, or by the plug-in for pools."""

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from comind.campaign.log.campaign_folders import CampaignFolder
from comind.errors import UsageError
from comind.wiring.local_sessions import LocalSessions
from comind.wiring.session_provider import provide_sessions
from tests.unit.campaign.samples import spec

_WITHOUT = """
import sys
import sysconfig
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


_UNINSTALLED = """
import sys
import sysconfig
sys.path[:] = [*sys.argv[1:], *(each for each in sys.path if "site-packages" not in each)]
from comind.errors import UsageError
from comind.wiring.session_provider import load_pools
try:
    load_pools()
except UsageError as error:
    print(error, error.hint, sep="\\n")
"""


def test_a_pool_without_a_plug_in_is_refused(tmp_path: Path) -> None:
    """Where no distribution declares one, CoMind itself is not installed."""
    packages = tmp_path / "site"
    packages.mkdir()
    for each in Path(sysconfig.get_path("purelib")).iterdir():
        if not each.name.startswith("comind_pipeline"):
            (packages / each.name).symlink_to(each)
    argv = [sys.executable, "-c", _UNINSTALLED, str(packages), str(Path(__file__).parents[3])]
    ran = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=tmp_path)
    found, hint = ran.stdout.splitlines()
    assert "no plug-in for sessions 'pool' is installed" in found
    assert hint == "CoMind itself is not installed: pip install --no-deps ."


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
