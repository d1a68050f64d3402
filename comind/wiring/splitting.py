"""The split of a campaign: by the house's rules or, without a metric, by an evaluator to be written."""

import shutil
from collections.abc import Callable
from pathlib import Path

from comind.authoring.author import author_split
from comind.campaign.attempt import WorkEvent
from comind.campaign.budget import Meter, MeteredModel, ledger_of
from comind.campaign.folder import CampaignFolder, ProjectFolder
from comind.campaign.loop import read_state
from comind.evaluation.competition_folder import load_competition
from comind.evaluation.splits.split_files import make_split, write_split
from comind.evaluation.splits.split_folder import SplitFolder
from comind.llm.rate_limiter import RateLimiter
from comind.session.choice import choose_sandbox
from comind.wiring.models import build_model, settings_of

__all__ = ["split_for"]

_EVALUATOR = "evaluator"


def split_for(project: ProjectFolder, campaign: CampaignFolder) -> SplitFolder:
    """Return the split of the campaign's competition; made where it is not there.

    Raises:
        CompetitionError: the folder's files contradict each other or its description.
        NoSubmissionError: the competition names no metric, and the model could not write an evaluator.
        ServiceError: the model's endpoint or the sandbox is missing or refuses.
    """
    state = read_state(campaign)
    competition = load_competition(Path(state.spec.competition_folder))
    if competition.metric is not None:
        return make_split(competition, project.splits, seed=state.spec.split_seed)
    work = campaign.work(_EVALUATOR)
    sandbox = choose_sandbox(state.spec.sandbox, own_code=False)
    settings = settings_of(_EVALUATOR, state.spec.models, state.spec.model)
    ledger = ledger_of(campaign, state.budget)
    limiter = RateLimiter(state.spec.traffic)

    def metered(note: Callable[[WorkEvent], None]) -> MeteredModel:
        model = build_model(settings.name or state.spec.model, settings)
        return MeteredModel(model, Meter(ledger, limiter, note=note, seconds_left=state.seconds_left))

    split = write_split(author_split(competition, work, metered, sandbox), project.splits)
    shutil.rmtree(work.workspace, ignore_errors=True)  # the labels in it are sealed elsewhere now
    return split
