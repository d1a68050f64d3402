"""What an attempt costs beside its cells: trivial cells, an instant model, graded and tracked."""

import json
import tempfile
import time
from pathlib import Path

from comind.adapters.mlflow.campaign import CampaignTracker
from comind.campaign.log.campaign_events import WorkFinished, WorkPlanned
from comind.campaign.work.metering import BudgetLedger
from comind.campaign.worker import Dependencies, execute
from comind.competitions.competition_folder import load_competition
from comind.demos.make import make_demo
from comind.domain.spend import Budget, Spend
from comind.grading.grader_process import GraderProcess
from comind.session.bubblewrap import BubblewrapSandbox
from comind.session.kernel_session import KernelSession
from comind.session.session_ports import Input
from comind.splits.split_files import make_split
from comind.testing import ScriptedModel, TinyAgent
from tests.unit.campaign.samples import code
from tests.unit.campaign.world import World

STEPS = 5
CELL = """
import shutil
shutil.copy('input/demo-tumours/sample_validation_submission.csv', 'validation_submission.csv')
shutil.copy('input/demo-tumours/sample_submission.csv', 'submission.csv')
"""


def main() -> None:
    """Print the figures."""
    root = Path(tempfile.mkdtemp(prefix="b-"))
    competition = load_competition(make_demo("demo-tumours", root))
    split = make_split(competition, root / "splits", seed=0)
    grader = GraderProcess(split.root, root / "grader.log")
    grader.start()
    grader.grade(split.public / "sample_validation_submission.csv", split.sample)
    world = World(root)
    campaign = world.campaign()
    tracker = CampaignTracker(root, world.folder.name)
    tracker.sync()
    sandbox = BubblewrapSandbox()
    model = ScriptedModel(lambda request: json.dumps({"code": CELL}))
    dependencies = Dependencies(
        lambda role: model,
        BudgetLedger(Budget(), Spend()),
        grader,
        lambda work, folder, notify: KernelSession(
            sandbox,
            folder.workspace,
            inputs=(Input(split.public, "input/demo-tumours"),),
            env={},
            memory_bytes=8 << 30,
            log=folder.root / "session.log",
        ),
    )
    whole = []
    for number in range(4):
        work_id, work = f"attempt-{number:03d}", code(steps=STEPS)
        begun = time.perf_counter()
        campaign.record(WorkPlanned(id=work_id, work=work))
        outcome = execute(TinyAgent(), work, world.folder.work(work_id), dependencies)
        campaign.record(WorkFinished(id=work_id, outcome=outcome))
        tracker.sync()
        whole.append(time.perf_counter() - begun)
        assert outcome.score is not None
    short = []
    for number in range(4, 8):
        work_id, work = f"attempt-{number:03d}", code(steps=1)
        begun = time.perf_counter()
        campaign.record(WorkPlanned(id=work_id, work=work))
        outcome = execute(TinyAgent(), work, world.folder.work(work_id), dependencies)
        campaign.record(WorkFinished(id=work_id, outcome=outcome))
        tracker.sync()
        short.append(time.perf_counter() - begun)
    step = (min(whole) - min(short)) / (STEPS - 1)
    print(f"attempt with {STEPS} trivial cells: {min(whole):.2f} s (target < 3 s)")
    print(f"a step of it: {1000 * step:.0f} ms (target < 60 ms)")
    grader.stop()
    campaign.close()


if __name__ == "__main__":
    main()
