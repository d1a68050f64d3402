"""The wheel in an environment without the checkout and without extras, in an empty folder.

That folder also has packages `flows` and `tasks` of its own, as Prefect's tutorials make them.
"""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from email import message_from_string
from pathlib import Path

import pytest
import yaml

from comind import __version__
from tests.e2e.command import Ran

pytestmark = pytest.mark.timeout(600)  # of the first test that needs the campaign

_ROOT = Path(__file__).parents[2]
_EXTRAS = r"(torch|functorch|imagehash|_?soundfile)"
_OURS = r"(comind_pipeline|_editable_impl)"
_PIP = r"pip(-|$)"  # environments made by uv have none
_LEFT_OUT = re.compile(f"{_EXTRAS}|{_OURS}|{_PIP}", re.IGNORECASE)
_SECONDS = 500.0
_LOAD_POOLS = "from comind.wiring.session_provider import load_pools; print(load_pools().__name__)"


@dataclass
class Installed:
    """An environment with the wheel, and the folder in which its commands run."""

    environment: Path
    project: Path

    def run(self, *command: str | Path, code: int = 0) -> Ran:
        """Run a program of the environment, with no other variables than a login has."""
        done = subprocess.run(
            [str(self.environment / "bin" / command[0]), *map(str, command[1:])],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.project,
            timeout=_SECONDS,
            env={
                "PATH": f"{self.environment / 'bin'}:/usr/local/bin:/usr/bin:/bin",
                "HOME": str(self.project.parent / "home"),
                "LANG": "C.UTF-8",
            },
        )
        assert done.returncode == code, done.stderr
        return Ran(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, built from this tree."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=_ROOT, check=True, capture_output=True)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """A fresh environment with the wheel and the locked packages, but those of extras alone."""
    folder = tmp_path_factory.mktemp("installed")
    environment, project = folder / "venv", folder / "project"
    uv = [sys.executable, "-m", "uv", "--quiet", "--offline"]
    subprocess.run([*uv, "venv", "--python", sys.executable, environment], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    for entry in Path(pytest.__file__).parents[1].iterdir():
        if not _LEFT_OUT.match(entry.name):
            _link(entry, packages / entry.name)
    subprocess.run([*uv, "pip", "install", "--no-deps", "--python", environment, wheel], check=True)
    project.mkdir()
    (folder / "home").mkdir()
    for name in ("flows", "tasks"):
        (project / name).mkdir()
        (project / name / "__init__.py").write_text(f"raise RuntimeError('{name} of the project')\n")
    place = Installed(environment, project)
    place.run("comind", "init")
    yield place
    shutil.rmtree(folder, ignore_errors=True)


def _link(source: Path, target: Path) -> None:
    """Link the files of a package; a sandbox sees no more than the folder of its environment."""
    if source.is_dir():
        shutil.copytree(source, target, copy_function=_link_file)
    elif not target.exists():
        _link_file(str(source), str(target))


def _link_file(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # on another file system
        shutil.copy2(source, target)


@pytest.fixture(scope="module")
def campaign(installed: Installed) -> str:
    """The name of a campaign that README's line has run."""
    command = "solve demo-tumours --model offline --profile quick --json"
    solved = installed.run("comind", *command.split())
    assert solved.json["valid_attempts"] == 1
    assert "WARNING" not in solved.stderr
    return str(solved.json["campaign"])


def test_its_content(wheel: Path) -> None:
    """It has our three packages with the files of a new project, a licence, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (archive.read(name) for name in names if name.endswith("/METADATA"))
        params = archive.read("comind/app/defaults/params.yaml")
    described = message_from_string(metadata.decode())
    assert {name.split("/")[0] for name in names} == {
        *("comind", "flows", "tasks"),
        f"comind_pipeline-{__version__}.dist-info",
    }
    assert (described["Version"], described["License-Expression"]) == (__version__, "Apache-2.0")
    assert params == (_ROOT / "params.yaml").read_bytes()
    defaults = {name.rpartition("/")[2] for name in names if name.startswith("comind/app/defaults/")}
    assert defaults >= {"params.yaml", "dvc.yaml", "prefect.yaml", "gitignore", "toolbox.txt"}
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_checkout_is_not_seen(installed: Installed) -> None:
    """Its own files are imported, also where the folder has packages of equal names."""
    where = "import comind, flows, tasks; print(comind.__file__, flows.__file__, tasks.__file__)"
    ran = installed.run("python", "-P", "-c", where)
    assert all(Path(path).is_relative_to(installed.environment) for path in ran.stdout.split())
    assert installed.run("comind", "--version").stdout == f"comind {__version__}\n"


def test_the_machine_is_checked(installed: Installed) -> None:
    """`comind doctor` names the extra of a missing package, and commands that need no Makefile."""
    ran = installed.run("comind", "doctor", "--json")
    checks = {check["name"]: check for check in ran.json["checks"]}
    assert checks["torch"]["mend"] == "pip install 'comind-pipeline[images]'"
    assert not checks["torch"]["needed"]
    assert checks["toolbox"]["mend"].startswith("uv venv ")
    assert "make " not in ran.stdout


def test_agents_are_found(installed: Installed) -> None:
    """Agents are loaded by the entry points of the wheel."""
    listed = installed.run("comind", "agents", "--json").json["agents"]
    assert {agent["name"] for agent in listed} >= {"aide", "automind", "baseline", "comind", "mlestar"}


def test_plug_ins_are_found(installed: Installed) -> None:
    """The wheel declares the command of MLE-bench and the plug-in for pools."""
    listed = installed.run("comind", "mlebench", "list", "--json").json
    assert len(listed["competitions"]) == 75
    loaded = installed.run("python", "-P", "-c", _LOAD_POOLS)  # the folder has packages of our names
    assert loaded.stdout == "comind.nodes.pool_plug_in\n"


def test_a_project_is_made(installed: Installed) -> None:
    """`comind init` writes the files of a project, once."""
    first = installed.run("comind", "init", "../other", "--json").json
    assert first["made"][-4:] == ["params.yaml", "dvc.yaml", "prefect.yaml", ".gitignore"]
    assert installed.run("comind", "init", "../other", "--json").json["made"] == []


def test_a_campaign_is_run_and_read(installed: Installed, campaign: str) -> None:
    """A campaign ends with a submission; its steps are shown."""
    assert (installed.project / "runs" / campaign / "submission.csv").is_file()
    shown = installed.run("comind", "show", campaign).stdout
    assert "attempt-000" in shown
    assert "refit-000" in shown


def test_a_submission_is_graded(installed: Installed, campaign: str) -> None:
    """The submission has a true score."""
    submission = f"runs/{campaign}/submission.csv"
    graded = installed.run("comind", "grade", "demo-tumours", submission, "--json").json
    assert graded["valid"]
    assert graded["score"] > 0.9


def test_the_lineage_is_shown(installed: Installed, campaign: str) -> None:
    """The lineage names the split and the script, which ran again with equal results."""
    lines = installed.run("comind", "lineage", campaign).stdout
    assert re.search(r"script\s+derived, identical", lines)


def test_a_page_is_written(installed: Installed, campaign: str) -> None:
    """Templates and styles of the page are in the wheel."""
    installed.run("comind", "report", f"runs/{campaign}", "--html", "page.html")
    assert "attempt-000" in (installed.project / "page.html").read_text()


def test_a_download_is_understood(installed: Installed) -> None:
    """`comind inspect` shows a plain folder."""
    rows = "".join(f"{number},{number % 7},{number % 2}\n" for number in range(400))
    download = installed.project.parent / "download"
    download.mkdir()
    (download / "train.csv").write_text(f"id,width,broken\n{rows}")
    unlabelled = "".join(f"{number},{number % 7}\n" for number in range(400, 500))
    (download / "test.csv").write_text(f"id,width\n{unlabelled}")
    sample = "".join(f"{number},0\n" for number in range(400, 500))
    (download / "sample_submission.csv").write_text(f"id,broken\n{sample}")
    assert re.search(r"targets\s+broken", installed.run("comind", "inspect", download).stdout)


def test_what_an_extra_has_is_named(installed: Installed) -> None:
    """A competition of images ends with exit code 4 and the extra to install."""
    failed = installed.run("comind", "solve", "demo-digits", "--model", "offline", "--json", code=4)
    assert failed.json["error"]["hint"] == "pip install 'comind-pipeline[images]'"


def test_deployments_and_stages_start(installed: Installed) -> None:
    """A worker's process loads the flows of prefect.yaml, and the stages of dvc.yaml start."""
    deployments = yaml.safe_load((installed.project / "prefect.yaml").read_text())["deployments"]
    load = (
        "import sys; from prefect.flows import load_flow_from_entrypoint as load;"
        "print([load(each, use_placeholder_flow=False).name for each in sys.argv[1:]])"
    )
    ran = installed.run("python", "-c", load, *(each["entrypoint"] for each in deployments))
    assert "follow-competition" in ran.stdout
    stages = yaml.safe_load((installed.project / "dvc.yaml").read_text())["stages"]
    installed.run(*stages["demos"]["cmd"].split())
    assert (installed.project / "data/demos/demo-digits/competition.yaml").is_file()


def test_files_of_the_project_are_in_one_folder(installed: Installed, campaign: str) -> None:
    """Nothing was written beside the project, and in it only what README lists."""
    assert campaign
    outside = {path.name for path in installed.project.parent.iterdir()}
    assert outside <= {"download", "home", "other", "project", "venv"}
    inside = {path.name for path in installed.project.iterdir()} - {"flows", "tasks", "page.html"}
    made = {".dvc", ".dvcignore", ".git", ".gitignore", "dvc.yaml", "params.yaml", "prefect.yaml"}
    assert inside == made | {".prefect", "data", "mlruns", "runs"}
