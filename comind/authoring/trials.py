"""Run and check the generated programs; every trial is recorded, and replayed on resume."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import pandas as pd

from comind.authoring.metric_checks import check_metric
from comind.authoring.script_runs import ScriptEvaluation, run_split
from comind.campaign.log.campaign_folders import EVALUATOR
from comind.campaign.log.work import Think
from comind.campaign.log.work_events import CellEnded, CellStarted
from comind.campaign.work.context import ThinkContext
from comind.campaign.work.ports import Models
from comind.campaign.work.recorder import Recorder
from comind.competitions.data import CompetitionData
from comind.llm.model_ports import ChatModel
from comind.session.session_ports import CellResult, CellStatus, Sandbox
from comind.splits.generated_split import HeldOutRows, ScriptCheckError, check_split


class EvaluatorTrials(ThinkContext):
    """Trials of the two programs in a sandbox, with the model that writes them."""

    def __init__(
        self,
        recorder: Recorder,
        model: ChatModel,
        data: CompetitionData,
        sandbox: Sandbox,
        workspace: Path,
    ) -> None:
        super().__init__(recorder, Models(model), Think(purpose=EVALUATOR))
        self.data = data
        self._sandbox = sandbox
        self._workspace = workspace
        self.split_program = ""
        """The program that has passed its checks."""

    def try_split(self, program: str) -> CellResult:
        """Run `split_dataset.py` twice and check its output; a failed check is the result's error."""

        def run() -> CellResult:
            result, first = self._run_and_check(program)
            if result.status is CellStatus.OK and first is not None:
                _, second = self._run_and_check(program)
                if second is None or second.rows != first.rows:
                    raise ScriptCheckError("check `same split again`: a second run held other rows back")
            return result

        result = self._trial("write split_dataset.py", program, run)
        if result.status is CellStatus.OK:
            self.split_program = program
        return result

    def try_evaluate(self, program: str, *, maximize: bool) -> CellResult:
        """Run `evaluate.py` on good and bad predictions; a failed check is the result's error."""

        def run() -> CellResult:
            truth = self.held_out.truth
            ids = truth[list(self.data.ids)]
            sample = pd.concat([ids, self.data.sample_values(len(ids))], axis="columns")
            evaluate = ScriptEvaluation(self._sandbox, program, self._workspace / "public")
            check_metric(evaluate, truth, sample, self.data.targets, maximize=maximize)
            return CellResult(status=CellStatus.OK)

        return self._trial(f"write evaluate.py, maximize {maximize}", program, run)

    @cached_property
    def held_out(self) -> HeldOutRows:
        """The rows that the passed program holds out; it is run and checked once more for this."""
        result, held_out = self._run_and_check(self.split_program)
        if held_out is None:
            raise ScriptCheckError(f"check `same split again`: {result.error}")
        return held_out

    def _run_and_check(self, program: str) -> tuple[CellResult, HeldOutRows | None]:
        result = run_split(self._sandbox, program, self.data.competition.public, self._workspace)
        if result.status is not CellStatus.OK:
            return result, None
        return result, check_split(self.data, self._workspace / "public", self._workspace / "private")

    def _trial(self, goal: str, program: str, run: Callable[[], CellResult]) -> CellResult:
        ordinal = self._recorder.next_ordinal()
        started = CellStarted(ordinal=ordinal, step=self.state.steps + 1, goal=goal, code=program)

        def attempt() -> CellEnded:
            try:
                result = run()
            except ScriptCheckError as error:
                result = CellResult(status=CellStatus.ERROR, error=str(error))
            return CellEnded(ordinal=ordinal, result=result)

        return self._recorder.effect(started, CellEnded, attempt).result
