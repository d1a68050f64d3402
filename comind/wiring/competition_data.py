"""Connect to Kaggle, and create the split of a campaign's competition."""

import shutil
from collections.abc import Callable
from pathlib import Path

from comind.authoring.author import author_split
from comind.campaign.log.campaign_events import SplitMade
from comind.campaign.log.campaign_folders import EVALUATOR, CampaignFolder, ProjectFolder
from comind.campaign.log.work_events import WorkEvent
from comind.campaign.loop import read_state
from comind.campaign.work.metering import Meter, MeteredModel, ledger_of
from comind.competitions.competition_folder import load_competition
from comind.competitions.data import CompetitionData
from comind.domain.problem import SAMPLE_AT
from comind.kaggle.port import Kaggle
from comind.kaggle.rate_limit import rate_limited
from comind.kaggle.settings import KaggleSettings
from comind.llm.rate_limiter import RateLimiter
from comind.programs.program_split import make_program_split
from comind.session.choice import choose_sandbox
from comind.splits.rule import FOLDS
from comind.splits.sample_rows import count_sample
from comind.splits.split_files import make_split, write_split
from comind.splits.split_folder import Split, SplitFolder
from comind.system.timing import ServerClock
from comind.wiring.agents import runs_own_code
from comind.wiring.models import build_model, settings_for


def open_kaggle(settings: KaggleSettings, time: ServerClock | None = None) -> Kaggle:
    """Return a rate-limited client of Kaggle, with the credentials that the official client finds.

    `time` is set to the server's time with each response.

    Raises:
        UsageError: credentials may not be sent to the endpoint's address.
        KaggleError: the credentials are missing or unusable.
    """
    from comind.kaggle.client import OfficialKaggle

    return rate_limited(
        OfficialKaggle(settings.endpoint, time.set if time else None), settings.rate_limit
    )


def write_checks(data: CompetitionData, folder: Path) -> None:
    """Write suites, validation result and page of a competition's tables into `folder`."""
    from comind.competitions import expectation_suites  # Great Expectations takes seconds to import

    expectation_suites.write_checks(data, folder)


def create_split(project: ProjectFolder, campaign: CampaignFolder) -> SplitFolder:
    """Return the split of the campaign's competition; an existing one is reused.

    A model writes split and metric where the competition names no metric.

    Raises:
        CompetitionError: the folder's files contradict each other or its description.
        NoSubmissionError: the competition names no metric, and the model could not write an evaluator.
        ServiceError: the model's endpoint or the sandbox is missing or refuses.
    """
    state = read_state(campaign)
    competition = load_competition(Path(state.spec.competition_folder))
    if competition.program is not None:
        return make_program_split(
            competition,
            project.splits,
            seed=state.spec.split_seed,
            sandbox=choose_sandbox(state.spec.sandbox, own_code=runs_own_code(state.spec)),
            test_feedback=state.spec.feedback == "test",
        )
    if competition.metric is not None:
        return make_split(competition, project.splits, seed=state.spec.split_seed, checks=write_checks)
    work = campaign.work(EVALUATOR)
    sandbox = choose_sandbox(state.spec.sandbox, own_code=False)
    settings = settings_for(EVALUATOR, state.spec.models, state.spec.model)
    ledger = ledger_of(project, campaign, state.budget)
    limiter = RateLimiter(state.spec.traffic)

    def metered(note: Callable[[WorkEvent], None]) -> MeteredModel:
        model = build_model(settings.name or state.spec.model, settings)
        return MeteredModel(model, Meter(ledger, limiter, note=note, seconds_left=state.seconds_left))

    plan = author_split(competition, work, metered, sandbox)
    split = write_split(plan, project.splits, checks=write_checks)
    shutil.rmtree(work.workspace, ignore_errors=True)  # it holds labels, which are sealed elsewhere now
    return split


def split_campaign(project: Path, campaign: str) -> SplitMade:
    """Split a campaign's competition; an existing split of the same content is reused."""
    folder = ProjectFolder(project)
    made = create_split(folder, folder.campaign(campaign))
    split = made.read()
    facts = split.model_dump(include=set(SplitMade.model_fields) - {"rule", "folds", "sample_rows"})
    rule = f"{split.rule.kind}: {split.rule_reason}{_confidence(split)}"
    if split.program is not None:
        return SplitMade(**facts, rule=rule)
    is_free = f"input/{split.competition}" != SAMPLE_AT
    sample_rows = count_sample(made.public, split) if is_free else 0
    return SplitMade(**facts, rule=rule, folds=FOLDS, sample_rows=sample_rows)


def _confidence(split: Split) -> str:
    """Return the confidence in the rule, and the shares of rows that share a group with train."""
    if split.confidence is None:
        return ""
    shares = [
        f"; {each.test:.0%} of test and {each.validation:.0%} of validation rows are {each.rows}"
        for each in split.related
        if each.own
    ]
    return f" ({split.confidence:.0%} confidence that it imitates the test set{''.join(shares[:1])})"
