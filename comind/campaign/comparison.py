"""Compare validation submissions through the grader: cached paired differences, correlated errors."""

from pathlib import Path

from comind.campaign.log.campaign_events import ErrorsCompared
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.domain.metric import Paired
from comind.grading.grader_port import CampaignGrader


class Comparisons:
    """Cache of paired comparisons; the grader may take seconds for each, and is deterministic."""

    def __init__(self, grader: CampaignGrader) -> None:
        self._grader = grader
        self._cache: dict[tuple[int, Path, Path], Paired] = {}

    def compare(self, one: Path, other: Path, fold: int = 0) -> Paired:
        """Return how much better the first submission is than the second, on `fold` (0: the split).

        Raises:
            GraderError: the grader is gone.
            SubmissionError: they cannot be compared.
        """
        key = (fold, one, other)
        if key not in self._cache:
            grader = self._grader.fold(fold) if fold else self._grader
            self._cache[key] = grader.compare(one, other)
        return self._cache[key]


def compare_errors(
    state: CampaignState, folder: CampaignFolder, grader: CampaignGrader
) -> ErrorsCompared:
    """Return the correlations of errors between the best attempts' best submissions.

    Raises:
        CampaignError: a submission was changed after it was graded.
        GraderError: the grader is gone.
    """
    files, names = [], state.comparable()
    for attempt in map(state.works.attempt, names):
        files.append(folder.validation_of(attempt))
        if attempt.submitted is not None:
            folder.work(attempt.id).verify(attempt.submitted)
    report = grader.errors(files)
    return ErrorsCompared(attempts=names, correlations=report.correlations, reason=report.reason)
