"""Register the delivered solution of a campaign as a model of MLflow."""

import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from comind.adapters.mlflow.tracking_store import Gate, SolutionVersion, TrackedRun, TrackingStore
from comind.campaign.log.campaign_events import ScriptProved
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.loop import read_state
from comind.domain.value import one_line
from comind.errors import ComindError
from comind.splits.split_folder import SplitFolder
from comind.tables.csv_tables import read_header
from comind.wiring import prediction
from comind.wiring.runtime import CampaignRuntime

_COST = (
    "Each prediction fits the model again, as in the campaign: its script took {seconds} when it was "
    "proved. To load the model takes no such time."
)
_LOADS = (
    "Each prediction loads the models that the script saved; that took {seconds} when it was proved."
)
_REASON = 200
_SPLIT, _CAMPAIGN = "comind.split", "comind.campaign"


def register_solution(
    store: TrackingStore, run: TrackedRun, project: ProjectFolder, campaign: str, state: CampaignState
) -> str:
    """Register the delivered solution with the run of its attempt; idempotent.

    Returns name and version of the model, or why there is none.
    """
    if state.split is None:
        return "none: the campaign has no split"
    folder, split = project.campaign(campaign), SplitFolder(project.splits / state.split.key)
    if reason := prediction.why_no_model(state, folder, split):
        return f"none: {reason}"
    delivered, chosen = state.delivered(), state.chosen()
    assert delivered is not None
    assert delivered.submitted is not None
    assert chosen is not None
    assert chosen.score is not None
    with tempfile.TemporaryDirectory(prefix="comind-solution-") as files:
        prediction.write_model(state, folder, Path(files))
        solution = SolutionVersion(
            name=f"comind-{state.spec.competition}",
            files=Path(files),
            loader=prediction.__name__,
            config={"project": str(project.root.absolute())},
            columns=tuple(read_header(split.public / "test.csv")),
            tags={
                _SPLIT: state.split.key,
                "comind.score": repr(chosen.score.value.value),
                _CAMPAIGN: campaign,
                "comind.attempt": delivered.id,
                "comind.metric": state.split.metric,
                "comind.submission_sha256": delivered.submitted.test_sha256,
                "comind.script_proof": state.proofs[delivered.id].proof,
            },
            description=_cost(state.proofs[delivered.id]),
            gate=partial(_better_beyond_noise, project, state),
        )
        return f"{solution.name} version {store.register(run, solution)}"


def _cost(proved: ScriptProved) -> str:
    """Return in a sentence how long a prediction takes."""
    if proved.loading_seconds is not None:
        return _LOADS.format(seconds=f"{proved.loading_seconds:.0f} s")
    return _COST.format(seconds=f"{proved.seconds:.0f} s")


def _better_beyond_noise(
    project: ProjectFolder, state: CampaignState, champion: Mapping[str, str]
) -> Gate:
    """Return whether a campaign's solution is better than the champion by more than a standard error.

    Both are compared on the same validation rows; where that is not possible, the champion stays.
    """
    assert state.split is not None
    name = f"{champion.get(_CAMPAIGN)}, the champion"
    if champion.get(_SPLIT) != state.split.key:
        return Gate(passes=False, reason=f"{name}, was scored on other rows: {champion.get(_SPLIT)}")
    ours, theirs = (project.campaign(each) for each in (state.spec.id, champion[_CAMPAIGN]))
    if not theirs.log.is_file():
        return Gate(passes=False, reason=f"{name}, is a campaign of another project")
    try:
        mine, other = state.chosen(), read_state(theirs).chosen()
        if mine is None or other is None:
            return Gate(passes=False, reason=f"{name}, has no scored attempt in its log")
        with CampaignRuntime(project, ours) as runtime:
            ahead = runtime.grader.compare(ours.validation_of(mine), theirs.validation_of(other))
    except (ComindError, OSError) as error:
        return Gate(passes=False, reason=f"not compared with {name}: {one_line(str(error), _REASON)}")
    difference, noise = ahead.shown
    measured = f"{difference:+g} with a standard error of {noise:g}"
    better = ahead.difference > ahead.standard_error
    return Gate(
        better, f"{'better than' if better else 'not better beyond the noise than'} {name}: {measured}"
    )
