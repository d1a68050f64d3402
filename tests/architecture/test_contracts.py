"""Import contracts, agents as plug-ins, sizes; each rule is also tested with a violation."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from comind.metrics import METRICS, metric_names
from comind.wiring.agents import load_agent

ROOT = Path(__file__).parents[2]
PACKAGES = ("comind", "tasks", "flows")
MODULES = sorted(
    path
    for package in PACKAGES
    for path in (ROOT / package).rglob("*.py")
    if not {"communities", "recordings"} & {*path.parts}  # programs of the demos are data
)

_GROUP = "comind.agents"  # entry points of agents
_MODULE_LINES = 400
_FUNCTION_LINES = 60


def _lint(root: Path) -> subprocess.CompletedProcess[str]:
    """Check the import contracts of a tree."""
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command as c; c()",
            "--no-cache",
        ],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin", "NO_COLOR": "1", "COLUMNS": "200"},
    )


def test_import_contracts_hold() -> None:
    """Imports go to lower layers, siblings are independent, every third-party client has one module."""
    done = _lint(ROOT)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("module", "violation", "contract"),
    [
        ("comind/domain/metric.py", "import comind.campaign.loop", "Floors of comind"),
        ("comind/following/state.py", "import comind.campaign.log.campaign_folders", "Floors of comind"),
        ("comind/llm/model_ports.py", "import comind.session.session_ports", "Floors of comind"),
        ("comind/campaign/work/recorder.py", "import comind.campaign.loop", "Floors of campaigns"),
        ("comind/competitions/download/archives.py", "import comind.splits.rule", "Floors of comind"),
        ("comind/stray.py", "", "Floors of comind"),
        ("comind/campaign/loop.py", "import prefect", "know the orchestrator"),
        ("comind/app/result.py", "import tasks.sharing", "Building"),
        ("comind/adapters/git/refs.py", "import mlflow", "One third-party client"),
        (
            "comind/campaign/log/campaign_state.py",
            "import comind.campaign.loop",
            "No package has a ring",
        ),
        (
            "comind/campaign/log/work_items.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import comind.campaign.loop",
            "No package has a ring",
        ),
        ("comind/wiring/competition_data.py", "import comind.agents.comind.pool", "Agents are plug-ins"),
        ("flows/campaign.py", "import comind.nodes.messages", "Nodes and MLE-bench are plug-ins"),
        ("comind/app/params.py", "import comind.agents.baseline", "Agents are plug-ins"),
        ("comind/agents/comind/pool.py", "import comind.agents.baseline", "blind to each other"),
    ],
    ids=[
        "upwards",
        "following without campaigns",
        "sibling",
        "loop for the recorder",
        "download without splits",
        "module without a layer",
        "orchestrator",
        "application to tasks",
        "client",
        "ring",
        "ring of types",
        "agent for the wiring",
        "plug-in for a flow",
        "agent for a flow",
        "agent for an agent",
    ],
)
def test_a_broken_contract_is_found(tmp_path: Path, module: str, violation: str, contract: str) -> None:
    """Each contract fails on a violation."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    changed = tmp_path / module
    changed.write_text((changed.read_text() if changed.exists() else "") + f"\n{violation}\n")
    done = _lint(tmp_path)
    assert done.returncode != 0
    broken = [line for line in done.stdout.splitlines() if "BROKEN" in line]
    assert any(contract in line for line in broken), done.stdout


def _agents_named(root: Path) -> set[tuple[str, str]]:
    """Return each module outside of comind/agents with a string that names an agent, and the string."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][_GROUP]
    names = {name for name in declared if load_agent(name).needs_model({})}
    return {
        (path.relative_to(root).as_posix(), node.value)
        for package in PACKAGES
        for path in (root / package).rglob("*.py")
        if root / "comind" / "agents" not in path.parents
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if node.value in names or node.value.startswith(f"{_GROUP}.")
    }


def _metrics_named(root: Path) -> set[tuple[str, str]]:
    """Return each module outside of the rooms of metrics that has a metric's name as a string."""
    own = [root / "comind" / room for room in ("metrics", "mlebench", "demos")]
    names = {*METRICS, *metric_names()}
    return {
        (path.relative_to(root).as_posix(), node.value)
        for package in PACKAGES
        for path in (root / package).rglob("*.py")
        if not any(room in path.parents for room in own)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in names
    }


def test_no_other_room_knows_a_metric_by_its_name(tmp_path: Path) -> None:
    """What a metric rewards is its own trait; a comparison of names elsewhere is found."""
    assert _metrics_named(ROOT) == set()
    broken = tmp_path / "comind" / "baseline"
    broken.mkdir(parents=True)
    (broken / "stray.py").write_text('ABSOLUTE = task.metric in ("mae", "mape")\n')
    assert _metrics_named(tmp_path) == {
        ("comind/baseline/stray.py", "mae"),
        ("comind/baseline/stray.py", "mape"),
    }


_DEFAULT_AGENT = ("comind/campaign/log/campaign_settings.py", "comind")
_FORMER_NAMES = ("comind/campaign/log/older_logs.py", "comind")
_THE_PROGRAM = {
    ("comind/kaggle/authentication.py", "comind"),  # user agent
    ("comind/servers/run_environment.py", "comind"),  # logger
    ("comind/cli/main.py", "comind"),  # name of the command
    ("comind/cli/solve.py", "comind"),
    ("comind/cli/schedule.py", "comind"),  # Prefect's work pool
    ("comind/adapters/git/refs.py", "comind"),  # folder of our code
}


def test_no_module_names_an_agent() -> None:
    """No module outside of the agents names one that needs a model.

    Exceptions are the default of `--agent`, and the parameters that older logs have.
    """
    assert _agents_named(ROOT) == {_DEFAULT_AGENT, _FORMER_NAMES} | _THE_PROGRAM


@pytest.mark.parametrize(
    ("violation", "text"),
    [
        ('def plan(agent):\n    return agent == "comind"', "comind"),
        ('AGENT = "comind.agents.comind:CoMind"', "comind.agents.comind:CoMind"),
    ],
    ids=["name", "class"],
)
def test_a_module_that_names_an_agent_is_found(tmp_path: Path, violation: str, text: str) -> None:
    """An agent's name or the path of its class is found, except in an agent."""
    for module in ("comind/wiring/stray.py", "comind/agents/comind/stray.py"):
        (tmp_path / module).parent.mkdir(parents=True)
        (tmp_path / module).write_text(violation)
    assert _agents_named(tmp_path) == {("comind/wiring/stray.py", text)}


_PLUG_INS = ("mlebench", "nodes")


def _plug_ins_named(root: Path) -> set[tuple[str, str]]:
    """Return each module outside of a plug-in with a string that names it, and the plug-in."""
    return {
        (path.relative_to(root).as_posix(), plug_in)
        for package in PACKAGES
        for path in (root / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for plug_in in _PLUG_INS
        if root / "comind" / plug_in not in path.parents
        if re.search(rf"comind[./]{plug_in}\b", node.value)
    }


def test_no_module_of_the_core_names_a_plug_in() -> None:
    """Plug-ins are found by entry point; no string outside of one names its package."""
    assert _plug_ins_named(ROOT) == set()


def test_a_module_that_names_a_plug_in_is_found(tmp_path: Path) -> None:
    """A dotted name and a path are found, except in the plug-in itself."""
    for number, text in enumerate(("comind.nodes.work_pool", "see comind/nodes", "comind.nodesets")):
        for folder in ("flows", "comind/nodes"):
            (tmp_path / folder).mkdir(parents=True, exist_ok=True)
            (tmp_path / folder / f"stray{number}.py").write_text(f"TEXT = {text!r}")
    assert _plug_ins_named(tmp_path) == {("flows/stray0.py", "nodes"), ("flows/stray1.py", "nodes")}


def test_importing_the_library_is_cheap() -> None:
    """`import comind` and `comind --help` import no heavy package."""
    heavy = ["prefect", "mlflow", "dvc", "torch", "pandas", "sklearn", "great_expectations"]
    heavy += ["openai", "duckdb"]
    program = (
        "import sys, comind\nfrom comind.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        f"print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "usage: comind" in done.stdout
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_modules_stay_readable(path: Path) -> None:
    """A module has a docstring, at most 400 lines, no function over 60, and a true `__all__`."""
    text = path.read_text()
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "has no docstring"
    assert len(text.splitlines()) <= _MODULE_LINES
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < _FUNCTION_LINES, node.name
    exported = _exported(tree)
    if exported is not None:
        assert exported == sorted(exported, key=_isort_order), "__all__ is not sorted"
        defined = _defined(tree)
        assert set(exported) <= defined, set(exported) - defined


def _isort_order(name: str) -> tuple[int, str]:
    """Sort constants, then classes, then the rest, as the linter does."""
    kind = 0 if name.isupper() else 1 if name[:1].isupper() else 2
    return kind, name


def _exported(tree: ast.Module) -> list[str] | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets
        ):
            return [str(ast.literal_eval(item)) for item in node.value.elts]  # type: ignore[attr-defined]
    return None


def _defined(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names |= {alias.asname or alias.name for alias in aliases}
            case ast.Assign(targets=targets):
                names |= {t.id for t in targets if isinstance(t, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case _:
                pass
    return names


_FOR_OUTSIDERS = re.compile(r"comind/(testing|authoring)/|/__init__\.py$")
_PAGES = ("agents.md", "competition-folder.md")  # from which authors of plug-ins copy
_RE_EXPORTS = {"comind/live/kaggle_types.py", "comind/llm/model_ports.py", "comind/system/duck.py"}


def test_only_what_outsiders_import_lists_its_public_names() -> None:
    """`__all__` is in packages, in modules for authors of plug-ins, and where names are re-exported."""
    pages = "\n".join((ROOT / "docs" / page).read_text() for page in _PAGES)
    public = {
        f"{name.replace('.', '/')}.py" for name in re.findall(r"from (comind[\w.]+) import", pages)
    }
    listed = {
        path.relative_to(ROOT).as_posix()
        for path in MODULES
        if _exported(ast.parse(path.read_text())) is not None
    }
    assert not {name for name in listed - public - _RE_EXPORTS if not _FOR_OUTSIDERS.search(name)}


def test_no_module_shadows_a_package() -> None:
    """No module of flows or tasks has the name of a root package or a standard library module."""
    taken = {*PACKAGES, *sys.stdlib_module_names}
    for package in ("flows", "tasks"):
        for path in (ROOT / package).rglob("*.py"):
            assert path.stem not in taken - {"__init__", "__main__"}, path


def test_every_test_has_a_docstring() -> None:
    """Each test has a docstring that states the behaviour in one sentence."""
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                docstring = ast.get_docstring(node)
                assert docstring, f"{path.name}: {node.name}"
                assert docstring.rstrip().endswith("."), f"{path.name}: {node.name}"


_DECORATORS = {"flows": "flow", "tasks": "step"}
"""The decorator of all that a package holds; `tasks.step` sets timeout, cache and tags of tasks."""
_ORCHESTRATION = {
    "flows": {"bench", "campaign", "ingest", "reproduce", "solve", "track"},
    "tasks": {
        *("artifacts", "attempts", "benches", "community", "competitions", "environment"),
        *("following", "projections", "sharing"),
    },
}
_PACKAGE_LINES = 1000


@pytest.mark.parametrize("package", _ORCHESTRATION)
def test_a_package_of_the_orchestrator_is_small(package: str) -> None:
    """A new module is named here, and what is more than a flow or a task is in `comind.app`."""
    found = {path.stem: path for path in (ROOT / package).rglob("*.py")}
    assert {*found} - {"__init__"} == _ORCHESTRATION[package]
    assert sum(len(path.read_text().splitlines()) for path in found.values()) <= _PACKAGE_LINES


def _public(text: str, decorator: str) -> tuple[list[str], list[str]]:
    """Return the public functions with a decorator of that name, and what else is public."""
    decorated, others = [], []
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names = [ast.unparse(each).split("(")[0] for each in node.decorator_list]
            if decorator in names:
                decorated.append(node.name)
            elif not node.name.startswith("_"):
                others.append(node.name)
    return decorated, others


@pytest.mark.parametrize(
    ("package", "module"),
    [(package, module) for package, modules in _ORCHESTRATION.items() for module in sorted(modules)],
)
def test_only_flows_and_tasks_are_public(package: str, module: str) -> None:
    """A module of flows or tasks has one at least, and no other public function or class."""
    text = (ROOT / package / f"{module}.py").read_text()
    decorated, others = _public(text, _DECORATORS[package])
    assert decorated
    assert not others


def test_a_helper_beside_a_task_is_found() -> None:
    """A public function without the decorator is found, as a public class is."""
    text = "@step(retries=1)\ndef run(): ...\ndef help(): ...\nclass Helper: ...\ndef _part(): ..."
    assert _public(text, "step") == (["run"], ["help", "Helper"])


_TEST_MODULE = re.compile(r"(?:from|import)\s+tests\S*\.test_\w+")


def test_helpers_are_not_imported_from_test_modules() -> None:
    """What several test modules use is in a module of its own; programs in strings count too."""
    found = {
        path.relative_to(ROOT).as_posix(): imports
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if (imports := _TEST_MODULE.findall(path.read_text()))
    }
    assert not found


@pytest.mark.parametrize(
    ("line", "is_found"),
    [
        ("from tests.unit." + "test_words import a", True),
        ("import tests." + "test_words", True),
        ("from tests.unit.samples import a", False),
    ],
)
def test_an_import_from_a_test_module_is_found(line: str, is_found: bool) -> None:
    """The pattern finds both kinds of import, and no import of a helper."""
    assert bool(_TEST_MODULE.search(line)) is is_found
