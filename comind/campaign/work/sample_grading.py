"""Have the predictions of a step on the sample graded, in a class of their own."""

from collections.abc import Callable

from comind.campaign.log.campaign_folders import WorkFolder
from comind.campaign.log.outcome import SamplePredictions
from comind.campaign.log.sample_steps import best_on_sample
from comind.campaign.log.work_events import SampleGraded
from comind.campaign.work.evaluations import EvaluationPlace
from comind.campaign.work.recorder import Recorder
from comind.errors import SubmissionError
from comind.grading.grader_port import Grader


def grade_on_sample(
    predictions: SamplePredictions,
    recorder: Recorder,
    grader: Grader,
    folder: WorkFolder,
    place: EvaluationPlace | None,
    seconds_left: Callable[[], float],
) -> SampleGraded:
    """Return the recorded report on predictions, or have them graded; it is one of the evaluations.

    They are compared with the attempt's best step on the sample before them.

    Raises:
        BudgetExceeded: the campaign's evaluations are used up.
        DeadlineExceeded: raised by `seconds_left`.
        GraderError: the grader is gone.
    """
    ordinal, best = recorder.next_ordinal(), best_on_sample(recorder.state.cells)

    def grade() -> SampleGraded:
        if place is not None:
            place.take(seconds_left)
        own = folder.sample_predictions(predictions.step)
        report, gain = grader.sample(own), None
        if report.score is not None and best is not None:
            try:
                gain = grader.compare(own, folder.sample_predictions(best.step))
            except SubmissionError:
                gain = None
        return SampleGraded(
            ordinal=ordinal,
            predictions=predictions,
            report=report,
            gain=gain,
            evaluation=place.use() if place is not None else None,
            evaluations=place.limit if place is not None else None,
        )

    return recorder.effect(predictions, SampleGraded, grade)
