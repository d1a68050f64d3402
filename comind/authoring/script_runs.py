"""Run generated programs in a sandbox."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path

from pydantic import ValidationError

from comind.authoring.metric_checks import ScriptReport
from comind.errors import SubmissionError
from comind.session.program import run_program
from comind.session.session_ports import CellResult, CellStatus, Input, Sandbox
from comind.system.files import read_untrusted
from comind.system.temporary_folders import scratch_folder

SPLIT = "split_dataset.py"
EVALUATE = "evaluate.py"

_ONE_EVALUATION_SECONDS, _START_SECONDS = 120.0, 20.0
_SECONDS = 600.0
_REPORT_BYTES = 1 << 20
_MESSAGE_LENGTH = 500
_run = partial(
    run_program,
    env={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"},
    seconds=_SECONDS,
    memory_bytes=8 << 30,
)


def run_split(sandbox: Sandbox, program: str, data: Path, workspace: Path) -> CellResult:
    """Run `split_dataset.py`, which writes public/ and private/ to the workspace.

    Args:
        sandbox: runs the program.
        program: its code.
        data: the competition's public folder, mounted read-only as its only input.
        workspace: emptied first; its contents are untrusted afterwards.
    """
    shutil.rmtree(workspace, ignore_errors=True)
    workspace.mkdir(parents=True)
    (workspace / SPLIT).write_text(program, encoding="utf-8")
    folders = ("--input_dir", "input", "--public_dir", "public", "--private_dir", "private")
    return _run(sandbox, (SPLIT, *folders), workspace, inputs=(Input(data, "input"),))


@dataclass(frozen=True, slots=True)
class ScriptEvaluation:
    """Run one `evaluate.py` on pairs of truth and predictions, in a fresh sandbox each time."""

    sandbox: Sandbox
    program: str
    public: Path
    """The public folder of the split."""

    def __call__(self, truths: Sequence[bytes], predictions: Sequence[bytes]) -> list[ScriptReport]:
        """Return a report for each pair; failures of the program are reports, too."""
        with scratch_folder("e") as root:
            self._write_inputs(root, truths, predictions)
            inputs = [Input(root / part, part) for part in ("scripts", "cases")]
            inputs.append(Input(self.public, "public"))
            limits = _ONE_EVALUATION_SECONDS, _SECONDS - _START_SECONDS
            driver = ("scripts/run_all.py", *map(str, limits))
            result = _run(self.sandbox, driver, root / "workspace", inputs=tuple(inputs))
            if result.status is not CellStatus.OK:
                failed = ScriptReport(score=None, success=False, message=result.error[-_MESSAGE_LENGTH:])
                return [failed] * len(predictions)
            return [_report(root / "workspace", number) for number in range(len(predictions))]

    def _write_inputs(self, root: Path, truths: Sequence[bytes], predictions: Sequence[bytes]) -> None:
        (root / "scripts").mkdir()
        (root / "scripts" / EVALUATE).write_text(self.program, encoding="utf-8")
        driver = resources.files("comind.authoring") / "run_all.py"
        (root / "scripts" / "run_all.py").write_text(driver.read_text(encoding="utf-8"))
        for number, (truth, prediction) in enumerate(zip(truths, predictions, strict=True)):
            case = root / "cases" / f"{number:04d}"
            (case / "private").mkdir(parents=True)
            (case / "private" / "validation_answers.csv").write_bytes(truth)
            (case / "submission.csv").write_bytes(prediction)


def _report(workspace: Path, number: int) -> ScriptReport:
    try:
        content = read_untrusted(workspace, f"reports/{number:04d}.json", limit=_REPORT_BYTES)
        report = ScriptReport.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        reason = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        return ScriptReport(score=None, success=False, message=f"its report is not right: {reason}")
    except (SubmissionError, OSError, ValueError) as error:
        return ScriptReport(score=None, success=False, message=f"its report cannot be read: {error}")
    return report.model_copy(update={"message": " ".join(report.message.split())[:_MESSAGE_LENGTH]})
