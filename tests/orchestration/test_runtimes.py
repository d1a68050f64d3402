"""A campaign's runtime ends alone, and an error within a flow is the one that is raised."""

from pathlib import Path

import pytest

from comind.app.projections import Projections
from comind.campaign.log.campaign_settings import Monitoring
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


def test_the_monitor_has_the_campaigns_settings_and_one_limit_of_questions(tmp_path: Path) -> None:
    """Questions are allowed by the calls of the campaign's ledger, and `monitor: false` is none."""
    competition = competition_folder(tmp_path)
    limits = Monitoring(ask_share=0.5, calls_share=0.5)
    with runtime_with_split(tmp_path / "p", competition, "c1", monitoring=limits) as runtime:
        assert runtime.monitor is not None
        assert runtime.monitor is runtime.monitor
        assert runtime.monitor.limits == limits
        questions = runtime.monitor.questions
        assert questions is not None
        assert questions.begin()
        assert not questions.begin()
        runtime.ledger.calls += 2
        assert questions.begin()
    with runtime_with_split(tmp_path / "p", competition, "c2", monitor=False) as runtime:
        assert runtime.monitor is None


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
