"""Files that a new project gets, and that a project without them has."""

import re
from pathlib import Path

import pytest
import yaml

from comind.app import defaults
from comind.app.params import read_params

_ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("packaged", "used"),
    [
        (defaults.PARAMS, "params.yaml"),
        (defaults.DEPLOYMENTS, "prefect.yaml"),
        (defaults.TOOLBOX_LOCK, "requirements/toolbox.txt"),
    ],
    ids=lambda each: each if isinstance(each, str) else each.name,
)
def test_a_packaged_file_is_a_link_to_the_one_in_use(packaged: Path, used: str) -> None:
    """There is one copy in the repository; a wheel has its content."""
    assert packaged.is_symlink()
    assert packaged.resolve() == (_ROOT / used).resolve()


def test_stages_of_a_project_are_ours_without_our_code() -> None:
    """dvc.yaml of a project has the repository's stages, which depend on no code of the repository."""
    ours = yaml.safe_load((_ROOT / "dvc.yaml").read_text())
    for stage in ours["stages"].values():
        deps = [dep for dep in stage.pop("deps", []) if not re.match("(comind|flows|tasks)(/|$)", dep)]
        stage.update({"deps": deps} if deps else {})
    assert yaml.safe_load(defaults.STAGES.read_text()) == ours


def test_stages_cannot_load_a_module_of_the_project() -> None:
    """Every command of dvc.yaml leaves the current folder out of Python's path."""
    stages = yaml.safe_load(defaults.STAGES.read_text())["stages"].values()
    assert all(stage["cmd"].startswith("python -P -m comind.cli.stages ") for stage in stages)


def test_a_project_without_params_has_the_packaged_ones(tmp_path: Path) -> None:
    """Profiles and values are those of the package."""
    assert read_params(tmp_path) == read_params(_ROOT)
    assert "quick" in read_params(tmp_path).profiles
