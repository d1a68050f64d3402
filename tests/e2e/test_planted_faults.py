"""Each task fails by a planted fault as often as it is tried, and is tried as often as it states."""

import inspect
import pkgutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from prefect import Task

import tasks
from comind.errors import KaggleBusyError
from tests.unit.campaign.samples import code, scored

# The tasks run outside of a flow here.
pytestmark = pytest.mark.filterwarnings("ignore:Logger 'prefect.task_runs' attempted to send logs")


class _Fault(NamedTuple):
    """A call that a task makes, which fails, and arguments for the task."""

    target: str
    """The function that is replaced, `module:name`; `runtime` for any use of the first argument."""
    arguments: tuple[Any, ...]
    error: Exception = OSError("busy")


class _Planted:
    """Raises its error whenever it is called or used."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.calls = 0

    def __call__(self, *_: object, **__: object) -> None:
        self.calls += 1
        raise self.error


class _Broken:
    """An argument with attributes whose every use fails."""

    def __init__(self, planted: _Planted) -> None:
        self._planted = planted

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._planted if name != "folder" else self._planted()


_HERE = Path("project")
_FAULTS = {
    "run_attempt": _Fault("runtime", ("attempt-001", code())),
    "ideate": _Fault("runtime", ("think-001", None)),
    "prove_script": _Fault("tasks.attempts:prove", (None, "attempt-001", 1.0)),
    "grade_submission": _Fault("runtime", (_HERE, _HERE)),
    "check_final_submission": _Fault("runtime", ()),
    "ingest_community": _Fault("tasks.community:read_state", (_HERE, "c1")),
    "import_community": _Fault("tasks.community:ingest_folder", (_HERE, _HERE, _HERE, "demo")),
    "fetch_from_kaggle": _Fault(
        "tasks.competitions:fetch_competition",
        (_HERE, "titanic", None, None, None),
        KaggleBusyError("busy"),
    ),
    "split_competition": _Fault("tasks.competitions:create_split", (_HERE, "c1")),
    "read_environment": _Fault("tasks.environment:choose_sandbox", ("auto",)),
    "repeatable_step": _Fault("argument", ("score",), KaggleBusyError("busy")),
    "single_step": _Fault("argument", ("submit",), KaggleBusyError("busy")),
    "version_data": _Fault("tasks.projections:version", (_HERE, [_HERE])),
    "track_campaign": _Fault("runtime", ()),
    "deliver_submission": _Fault("runtime", ()),
    "commit_campaign": _Fault("runtime", ()),
    "track_bench": _Fault("tasks.benches:write_bench_run", (_HERE, _HERE, None)),
    "push_campaign": _Fault("tasks.sharing:files_at", (_HERE, "c1")),
    "publish_solutions": _Fault(
        "tasks.solutions:publish_solution", (_HERE, "c1", {"attempt-001": (code(), scored(0.9))})
    ),
    "show_report": _Fault("tasks.artifacts:answers", ("titanic", "# titanic")),
    "show_results": _Fault("tasks.artifacts:answers", (_Broken(_Planted(OSError("busy"))), None)),
}


def _tasks() -> dict[str, Task[..., Any]]:
    """Return all tasks of the package, by name."""
    modules = pkgutil.walk_packages(tasks.__path__, "tasks.")
    found = [vars(import_module(each.name)).items() for each in modules]
    return {name: each for items in found for name, each in items if isinstance(each, Task)}


def test_no_task_is_left_out() -> None:
    """A new task has to state here what can fail in it."""
    assert _FAULTS.keys() == _tasks().keys()


@pytest.mark.parametrize("name", _FAULTS)
def test_a_task_is_tried_as_often_as_it_states(
    name: str, shared_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault that stays is raised after all retries, without which the step fails at once."""
    task, fault = _tasks()[name], _FAULTS[name]
    planted = _Planted(fault.error)
    arguments = fault.arguments
    if fault.target == "runtime":
        arguments = (_Broken(planted), *arguments)
    elif fault.target == "argument":
        arguments = (*arguments, planted)
    else:
        module, _, attribute = fault.target.partition(":")
        monkeypatch.setattr(import_module(module), attribute, planted)
    options = {"own_code": True} if "own_code" in inspect.signature(task.fn).parameters else {}
    at_once: Callable[..., Any] = task.with_options(retry_delay_seconds=0)
    with pytest.raises(type(fault.error), match="busy"):
        at_once(*arguments, **options)
    assert planted.calls == 1 + task.retries
