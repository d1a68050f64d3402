"""Run the script of an attempt in a fresh interpreter, and compare its submissions."""

import math
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from comind.campaign.log.campaign_events import Proof, ScriptProved
from comind.campaign.log.campaign_folders import WorkFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work import Code
from comind.campaign.log.work_state import WORK_LOG, CellRun
from comind.campaign.loop import read_state
from comind.campaign.script.cells import cells_of
from comind.campaign.script.derive import Script, all_cells, derive
from comind.campaign.work.cell_outputs import SUBMISSION_BYTES
from comind.errors import SubmissionError
from comind.grading.agreement import Agreement, Verdict, compare_submissions
from comind.session.session_ports import CellResult, CellStatus
from comind.system.files import read_untrusted, write_atomically
from comind.system.hardware import reference_seconds
from comind.system.temporary_folders import staging_folder
from comind.wiring.leftovers import PROOF
from comind.wiring.other_rows import AttemptScript
from comind.wiring.runtime import CampaignRuntime

_MIN_TIMEOUT = 120.0  # seconds
_SLACK = 5.0  # timeout as a multiple of the cells' time: another machine may be slower
_PROOFS: dict[Verdict, Proof] = {
    Verdict.IDENTICAL: "identical",
    Verdict.EQUIVALENT: "equivalent",
    Verdict.UNPROVED: "unproved",
    Verdict.DRIFT: "unproved",
}


@dataclass(frozen=True, slots=True)
class _ScriptRun:
    """The result of a script."""

    result: CellResult
    agreement: Agreement
    """The worse one of validation and test submission with the graded file."""


def prove(runtime: CampaignRuntime, work_id: str, seconds: float) -> ScriptProved:
    """Prove that an attempt's script reproduces its submissions: the derived one, else all cells.

    All runs together take `seconds` at most, and no more than `time_limit`. A script that can load its
    models runs once more so.

    Raises:
        SandboxError: no sandbox can be started.
    """
    folder = runtime.folder.work(work_id)
    state = read_state(runtime.folder)
    attempt = state.works.attempt(work_id)
    work, submitted = attempt.work, attempt.submitted
    assert submitted is not None
    ran = WORK_LOG.read(folder.log).cells
    cells = cells_of(ran, submitted.step)
    seconds = min(seconds, time_limit(state, work, ran))
    expected = folder.submissions(submitted.step)
    proved: ScriptProved | None = None
    derived, whole = derive(cells), all_cells(cells)
    for script in [derived] if derived.text == whole.text else [derived, whole]:
        with staging_folder(folder.root, PROOF) as scratch:  # it may hold labels: a refit has all
            tried = rerun(runtime, work, folder, script, expected, scratch, seconds)
            seconds -= tried.result.seconds
            loading = None
            if _PROOFS[tried.agreement.verdict] != "unproved" and seconds > 0:
                saved, place = scratch / "workspace" / "checkpoints", scratch / "loading"
                again = AttemptScript(runtime, work, folder, script)
                loading = again.loading_seconds(saved, expected, place, seconds)
        verdict, reason = tried.agreement.verdict, tried.agreement.difference
        if proved is not None:
            reason = f"{reason or 'all cells agree'}; the derived script: {proved.reason}"
        proved = ScriptProved(
            id=work_id,
            proof=_PROOFS[verdict],
            origin=script.origin.value,
            script_sha256=script.sha256,
            reason=reason,
            seconds=tried.result.seconds,
            loading_seconds=loading,
        )
        if verdict is not Verdict.DRIFT or seconds <= 0:
            break
    assert proved is not None
    return proved


def time_limit(state: CampaignState, work: Code, cells: Iterable[CellRun]) -> float:
    """Return the timeout of an attempt's script in seconds, from the time of its cells.

    The script of a blend runs those of its members. On a machine that is slower now than the campaign's
    was, the timeout is as much longer.
    """
    took = math.fsum(cell.result.seconds for cell in cells if cell.result is not None)
    took += work.blend.seconds if work.blend is not None else 0.0
    before = state.reference_seconds
    slower = max(1.0, reference_seconds() / before) if before else 1.0
    return slower * max(_MIN_TIMEOUT, _SLACK * took)


def rerun(
    runtime: CampaignRuntime,
    work: Code,
    folder: WorkFolder,
    script: Script,
    expected: Path,
    scratch: Path,
    seconds: float,
) -> _ScriptRun:
    """Run `script` with the attempt's inputs, packages and sandbox, and compare its submissions.

    `expected` is the folder of both graded submissions; the new ones are written to the subfolder
    `found` of the empty folder `scratch`. `seconds` is the timeout.

    Raises:
        SandboxError: no sandbox can be started.
    """
    workspace = scratch / "workspace"
    write_atomically(workspace / script.file_name, script.text)
    result = runtime.run_script(work, folder, script.arguments, workspace, seconds)
    usual, found = script.kept, scratch / "found"
    if result.status is not CellStatus.OK:
        last = result.error.strip().rpartition("\n")[2][:300]
        shutil.rmtree(workspace, ignore_errors=True)
        difference = f"the script ended with: {last or result.status}"
        if result.status is CellStatus.TIMEOUT:
            difference = f"{difference}, after {seconds:.0f} s"
        verdict = Verdict.DRIFT if result.status is CellStatus.ERROR else Verdict.UNPROVED
        return _ScriptRun(result, Agreement(verdict=verdict, difference=difference))
    worst = Agreement(verdict=Verdict.IDENTICAL)
    for name, target in ((script.test, usual.test), (script.validation, usual.validation)):
        try:
            content = read_untrusted(workspace, name, limit=SUBMISSION_BYTES)
        except SubmissionError as error:
            return _ScriptRun(result, Agreement(verdict=Verdict.DRIFT, difference=str(error)))
        write_atomically(found / target, content)
        found_here = compare_submissions(expected / target, found / target)
        if found_here.verdict.distance > worst.verdict.distance:
            difference = f"{target}: {found_here.difference}"
            worst = Agreement(verdict=found_here.verdict, difference=difference)
    return _ScriptRun(result, worst)
