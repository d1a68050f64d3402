"""What holds for every test: no telemetry, no keys, one seed for the examples of property tests."""

import atexit
import gc
import logging
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from comind.servers.run_environment import LOGGERS
from comind.session.docker import DockerSandbox
from tests.engine import folder_of_the_run, start_engine, stop_engine

settings.register_profile(
    "comind",
    print_blob=True,
    deadline=None,  # machines are noisy; time is measured in benchmarks/
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("long", settings.get_profile("comind"), max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "comind"))

_SECRETS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "KAGGLE_KEY", "KAGGLE_API_TOKEN", "COMIND_KILL_AT")


@pytest.fixture(scope="session")
def leases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of this worker's leases: workers get as many cores as if each were alone."""
    return tmp_path_factory.mktemp("leases")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, leases: Path) -> None:
    """A key, setting or engine of the developer's shell never reaches a test."""
    for name in _SECRETS:
        monkeypatch.delenv(name, raising=False)
    for name in [name for name in os.environ if name.startswith("COMIND_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COMIND_TOOLBOX", "none")
    monkeypatch.setenv("COMIND_LEASES", str(leases))
    # The same sandbox on every machine; a test that wants the engine says so.
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/engine.sock")


@pytest.fixture(autouse=True)
def _own_logging() -> Iterator[None]:
    """Put the logging of this process back as it was: commands that a test runs here configure it."""
    factory, loggers = logging.getLogRecordFactory(), [logging.getLogger(name) for name in LOGGERS]
    before = [(each.level, each.propagate, each.handlers[:]) for each in loggers]
    yield
    logging.setLogRecordFactory(factory)
    for each, (level, propagate, handlers) in zip(loggers, before, strict=True):
        each.setLevel(level)
        each.propagate, each.handlers[:] = propagate, handlers


@pytest.fixture(scope="module", autouse=True)
def _no_threads_of_prefect() -> Iterator[None]:
    """Stop Prefect's threads after a module that ran tasks in this process.

    They send pings with random numbers, which Hypothesis would take for a test's own.
    """
    yield
    if "prefect.events.worker" in sys.modules:
        from prefect.events.worker import EventsWorker

        EventsWorker.drain_all(timeout=5)


@pytest.hookimpl(tryfirst=True)  # before Hypothesis reads its option
def pytest_configure(config: pytest.Config) -> None:
    """Draw the seed of property tests, and name the folder of the container engine, for all workers."""
    config.option.hypothesis_seed = config.option.hypothesis_seed or str(random.randrange(1 << 32))
    folder_of_the_run()
    os.environ["COMIND_TOOLBOX"] = "none"  # the same environment on every machine
    # Workers share the cores: threads that spin while they wait make small fits ten times slower.
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def pytest_report_header(config: pytest.Config) -> str:
    """Show the seed by which the same examples are drawn again."""
    return f"property tests: --hypothesis-seed={config.option.hypothesis_seed}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest files first, so that no worker is left with one of them at the end.

    Files that wait for timeouts are spread among those that compute, so that the cores stay busy.
    """
    paths = list(dict.fromkeys(item.path for item in items))

    def turns(*folders: str) -> dict[Path, float]:
        files = [path for path in paths if {*folders} & {*path.parts}]
        return {path: number / len(files) for number, path in enumerate(files)}

    turn = turns("e2e") | turns("attacks", "contract")
    items.sort(key=lambda item: turn.get(item.path, 1.0))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect tests without garbage collection, and leave what they imported out of later ones.

    Collection creates a million objects that stay, which each full garbage collection would scan.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        atexit.register(gc.unfreeze)  # extension modules report objects that were never freed


def pytest_unconfigure(config: pytest.Config) -> None:
    """End this run's container engine when the last worker is done."""
    if not hasattr(config, "workerinput"):
        stop_engine()


@pytest.fixture(scope="session")
def engine() -> str:
    """Address of a container engine that has the host image."""
    return start_engine()


@pytest.fixture(scope="session")
def docker_sandbox(engine: str) -> DockerSandbox:
    """The docker sandbox on this machine's own programs."""
    with pytest.MonkeyPatch.context() as patch:  # other fixtures' commands do not use the engine
        patch.setenv("DOCKER_HOST", engine)
        return DockerSandbox("comind-sandbox-host")
