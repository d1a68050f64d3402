"""A task that fails is tried as often as its decorator states, and once if that is permanent."""

import copy
import pkgutil
from importlib import import_module
from typing import Any

import pytest
from prefect import Task

import tasks
from comind.errors import CampaignError, KaggleBusyError, ModelRefusedError, OrchestrationError

# The tasks run outside of a flow here.
pytestmark = pytest.mark.filterwarnings("ignore:Logger 'prefect.task_runs' attempted to send logs")

_RETRIES = {
    "check_final_submission": 0,
    "fetch_from_kaggle": 1,
    "grade_submission": 2,
    "ideate": 1,
    "import_community": 1,
    "ingest_community": 1,
    "prove_script": 1,
    "push_campaign": 2,
    "read_environment": 1,
    "repeatable_step": 1,
    "run_attempt": 1,
    "run_closing": 1,
    "show_report": 0,
    "show_results": 0,
    "single_step": 0,
    "split_competition": 1,
    "track_bench": 2,
    "write_projections": 2,
}
_ONLY_WHEN_KAGGLE_IS_BUSY = {"fetch_from_kaggle", "repeatable_step"}


def _tasks() -> dict[str, Task[..., Any]]:
    """Return all tasks of the package, by name."""
    modules = pkgutil.walk_packages(tasks.__path__, "tasks.")
    found = [vars(import_module(each.name)).items() for each in modules]
    return {name: each for items in found for name, each in items if isinstance(each, Task)}


def _tries(name: str, error: Exception) -> int:
    """Run a task whose function raises an error; return how often it was tried."""
    tries = 0

    def fail() -> None:
        nonlocal tries
        tries += 1
        raise error

    failing = copy.copy(_tasks()[name])
    failing.fn = fail
    options: dict[str, Any] = {"retry_delay_seconds": 0, "task_run_name": name}
    with pytest.raises(type(error)):
        failing.with_options(**options)()
    return tries


def test_no_task_is_left_out() -> None:
    """A new task has to state here how often it is retried."""
    assert {name: each.retries for name, each in _tasks().items()} == _RETRIES


@pytest.mark.parametrize("name", _RETRIES)
def test_a_task_has_as_many_retries_as_it_states(name: str, shared_server: str) -> None:
    """A fault that stays is raised after all retries, without which the step fails at once."""
    error = KaggleBusyError("busy") if name in _ONLY_WHEN_KAGGLE_IS_BUSY else OSError("busy")
    assert _tries(name, error) == 1 + _RETRIES[name]


@pytest.mark.parametrize("name", _RETRIES)
@pytest.mark.parametrize(
    "error", [CampaignError("it was changed"), ModelRefusedError("the key is refused")], ids=repr
)
def test_a_permanent_error_has_no_retry(name: str, error: Exception, shared_server: str) -> None:
    """Invalid data stay invalid and a refused key stays refused: a second try would only cost time."""
    assert _tries(name, error) == 1


def test_an_error_of_a_tool_is_retried(shared_server: str) -> None:
    """DVC may be locked for a moment."""
    assert _tries("split_competition", OrchestrationError("DVC is locked")) == 2
