"""Services refuse what docs/security.md says that they refuse."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from comind.app.campaign_pages import CampaignPages
from comind.live.server import LiveServer
from comind.mlebench.benchmark_grader import BenchmarkAnswers
from comind.mlebench.catalog import Mode, find_benchmark_competition
from comind.mlebench.validation_server import ValidationServer
from comind.nodes.certificate import create_certificate
from comind.nodes.driver_server import DriverServer
from tests.services_table import check_service, read_services
from tests.unit.mlebench.worlds import make_world

_ELSEWHERE = {
    "Prefect": "tests/orchestration/test_prefect_server.py",
    "MLflow": "tests/e2e/test_ui.py",
    "S3 store": "tests/e2e/test_stack.py",
    "PostgreSQL": "tests/e2e/test_stack.py",
    "grader": "tests/contract/test_grader.py",
}
_ROUTE = "/api/v1/competitions.CompetitionApiService/ListCompetitions"


@contextmanager
def _pages(folder: Path) -> Iterator[str]:
    with CampaignPages(folder, str) as server:
        yield f"http://127.0.0.1:{server.port}/"


@contextmanager
def _live(_folder: Path) -> Iterator[str]:
    with LiveServer([], users={"ann": "key"}) as server:
        yield f"http://127.0.0.1:{server.port}{_ROUTE}"


@contextmanager
def _validation(folder: Path) -> Iterator[str]:
    entry = find_benchmark_competition("us-patent-phrase-to-phrase-matching")
    answers = BenchmarkAnswers(entry, make_world(entry).write(folder))
    with ValidationServer(answers, Mode.MLEBENCH) as server:
        yield f"http://127.0.0.1:{server.port}/validate"


@contextmanager
def _nodes(folder: Path) -> Iterator[str]:
    with DriverServer(create_certificate(folder / "tls"), address="driver.example.org") as server:
        yield f"https://127.0.0.1:{server.port}/objects"


_STARTED: dict[str, tuple[Callable[[Path], object], str]] = {
    "campaign pages": (_pages, "GET"),
    "MLE-Live": (_live, "POST"),
    "`/validate`": (_validation, "POST"),
    "nodes": (_nodes, "POST"),
}


def test_every_service_is_tested() -> None:
    """Here, or where a test needs it running anyway; that one checks the row by its name."""
    assert read_services().keys() == _STARTED.keys() | _ELSEWHERE.keys()
    for name, file in _ELSEWHERE.items():
        assert name in (Path(__file__).parents[2] / file).read_text()


@pytest.mark.parametrize("name", _STARTED)
def test_it_refuses_what_its_row_says(name: str, tmp_path: Path) -> None:
    """Where it listens, and the status for each kind of request."""
    start, method = _STARTED[name]
    with start(tmp_path) as url:  # type: ignore[attr-defined]
        check_service(name, url, method)
