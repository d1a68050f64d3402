"""A campaign's runtime ends alone, and an error within a flow is the one that is raised."""

from pathlib import Path

import pytest

from comind.app.projections import Projections
from comind.wiring.runtime import CampaignRuntime
from tests.orchestration.prepared_campaign import runtime_with_split
from tests.unit.competitions.folders import competition_folder


@pytest.fixture
def two(tmp_path: Path) -> tuple[CampaignRuntime, CampaignRuntime]:
    """Two campaigns of one project in this process."""
    project, competition = tmp_path / "project", competition_folder(tmp_path)
    one, other = (runtime_with_split(project, competition, name) for name in ("c1", "c2"))
    return one, other


def test_the_end_of_one_campaign_leaves_the_grader_of_another(
    two: tuple[CampaignRuntime, CampaignRuntime], tmp_path: Path
) -> None:
    """The other runtime's grader process is the same one before and after."""
    sample = tmp_path / "small" / "public" / "sample_submission.csv"
    one, other = two
    with other:
        with one:
            assert one.grader.check(sample).valid
            assert other.grader.check(sample).valid
            running = _process(other)
        assert not _alive(one)
        assert other.grader.check(sample).valid
        assert _process(other) == running
    assert not _alive(other)


def _process(runtime: CampaignRuntime) -> object:
    return runtime.grader._process


def _alive(runtime: CampaignRuntime) -> bool:
    process = runtime.grader._process
    return process is not None and process.alive()


def test_projections_that_fail_after_an_error_do_not_replace_it(
    two: tuple[CampaignRuntime, CampaignRuntime],
) -> None:
    """The first error is raised, with a note on the second."""
    runtime = two[0]

    def full() -> None:
        raise OSError(28, "No space left on device")

    projections = Projections(runtime.project.root, "c1", lambda _state: None)
    first = ValueError("the cause")
    with (
        pytest.raises(ValueError, match="the cause") as raised,
        projections.written_at_end(full),
    ):
        raise first
    assert "No space left" in raised.value.__notes__[0]
