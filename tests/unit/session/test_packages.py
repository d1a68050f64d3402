"""Packages that an agent requests are installed from a local folder of wheels, without the network."""

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.session.packages import Packages, split_installs
from tests.unit.session.wheels import make_wheel


@pytest.fixture(autouse=True)
def _only_our_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))


def installer(root: Path, *allowed: str) -> Packages:
    """Return the installer of an attempt in `root`."""
    return Packages(root / "packages", root / "packages.json", allowed=allowed)


def test_lines_that_ask_are_taken_out() -> None:
    """Install lines at the start are removed, in each of their forms; other lines keep their numbers."""
    asking = "# first\n%pip install -q 'a' b==1.0\n\n!python -m pip install c  # why\n"
    code = f"{asking}import a\n!pip install d"
    wanted, rest = split_installs(code)
    assert wanted == ("a", "b==1.0", "c")
    assert rest == "# first\n\n\n\nimport a\n!pip install d"


@given(st.text(st.sampled_from("%!pip instal\nx=1.-#'"), max_size=80))
def test_other_cells_stay_as_they_are(code: str) -> None:
    """A cell without install lines is unchanged."""
    wanted, rest = split_installs(code)
    assert rest.count("\n") == code.count("\n")
    assert wanted or rest == code or "install" in code


def test_what_is_allowed_is_installed_and_recorded(tmp_path: Path) -> None:
    """The wheel is unpacked, its hash recorded, and the next installer reads the record."""
    wheel = make_wheel(tmp_path / "wheels", "tiny_thing", requires="another")
    printed = installer(tmp_path, "Tiny.Thing").install(["tiny-thing"])
    assert printed == "pip install tiny-thing: installed tiny-thing 1.0, without dependencies\n"
    assert (tmp_path / "packages" / "tiny_thing.py").is_file()
    (entry,) = json.loads((tmp_path / "packages.json").read_text())
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert entry == {"name": "tiny-thing", "version": "1.0", "sha256": digest}
    again = installer(tmp_path, "tiny-thing")
    assert again.install(["tiny_thing"]).endswith("tiny-thing 1.0 is installed\n")
    assert "in use" in again.install(["tiny_thing==2.0"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["packages", "packages.json", "wheels"]


@pytest.mark.parametrize(
    "asked",
    [
        "other",
        "--index-url",
        "-r",
        "/etc/passwd",
        "./tiny_thing",
        "git+https://host.invalid/x",
        "tiny_thing@file:///x",
        "tiny_thing;",
        "-e",
        "tiny_thing[extra]",
    ],
)
def test_what_is_not_allowed_is_refused_in_one_line(tmp_path: Path, asked: str) -> None:
    """Other names, options, paths, addresses and extras are refused, and nothing is created."""
    make_wheel(tmp_path / "wheels", "tiny_thing")
    printed = installer(tmp_path, "tiny-thing").install([asked])
    assert "refused" in printed
    assert printed.count("\n") == 1
    assert list((tmp_path / "packages").iterdir()) == []


def test_it_is_off_where_nothing_is_allowed(tmp_path: Path) -> None:
    """Without an allow list the answer says so."""
    printed = installer(tmp_path).install(["tiny_thing"])
    assert printed == (
        "pip install tiny_thing: refused, no packages can be installed in this campaign\n"
    )


def test_a_source_is_never_built(tmp_path: Path) -> None:
    """A package without a wheel fails, as its build would run outside the sandbox."""
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / "tiny_thing-1.0.tar.gz").write_bytes(b"not looked at")
    printed = installer(tmp_path, "tiny-thing").install(["tiny_thing"])
    assert "failed" in printed
    assert list((tmp_path / "packages").iterdir()) == []
