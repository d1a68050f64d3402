"""What running a script again proves, and for how long it may run."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from comind.app.reproduction import _Part, _summarize
from comind.campaign.script.derive import Script, ScriptOrigin
from comind.domain.spend import Budget
from comind.grading.agreement import Verdict
from comind.session.session_ports import CellResult, CellStatus
from comind.wiring.proof import rerun, time_limit
from tests.unit.campaign.world import World


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (CellStatus.TIMEOUT, Verdict.UNPROVED),
        (CellStatus.DIED, Verdict.UNPROVED),
        (CellStatus.ERROR, Verdict.DRIFT),
    ],
)
def test_a_script_that_was_ended_proves_nothing(
    tmp_path: Path, status: CellStatus, verdict: Verdict
) -> None:
    """A script that ran out of time or room is unproved; one that raises gives another result."""
    result = CellResult(status=status, error="why", seconds=7.0)
    runtime = SimpleNamespace(run_script=lambda *given: result)
    script = Script(ScriptOrigin.DERIVED, "pass", "pass", "v.csv", "t.csv")
    world = World(tmp_path / "world")
    work = world.run(world.campaign()).works.attempts()[0].work
    again = rerun(runtime, work, None, script, tmp_path, tmp_path / "scratch", 9.0)  # type: ignore[arg-type]
    assert again.agreement.verdict is verdict
    late = ", after 9 s" if status is CellStatus.TIMEOUT else ""
    assert again.agreement.difference == f"the script ended with: why{late}"


def test_limits_follow_the_speed_of_the_machine(tmp_path: Path) -> None:
    """On a machine that is slower now than the campaign's was, a script may run for longer."""
    world = World(tmp_path, budget=Budget(seconds=1000.0))
    state = world.run(world.campaign())
    work = state.works.attempts()[0].work
    unknown = time_limit(state, work, ())
    assert time_limit(replace(state, reference_seconds=1e9), work, ()) == unknown
    assert time_limit(replace(state, reference_seconds=1e-9), work, ()) > 1000 * unknown


def test_the_verdict_is_about_the_delivered_file() -> None:
    """A blend's script that ran out of time does not judge a refit whose file is identical."""
    blend = _Part("blend-000", Verdict.UNPROVED, "late", None, "a", None, 0.8, "derived", 900.0)
    refit = _Part("refit-000", Verdict.IDENTICAL, "", "b", "b", None, None, "derived", 30.0)
    state = SimpleNamespace(delivered=lambda: SimpleNamespace(id="refit-000"))
    told = _summarize("c", state, [blend, refit], ())  # type: ignore[arg-type]
    assert (told["verdict"], told["difference"]) == ("identical", "")
    assert (told["submission_sha256"], told["expected_score"]) == ("b", 0.8)
    assert [part["verdict"] for part in told["parts"]] == ["unproved", "identical"]
