"""Register the delivered solution of a campaign as a model of MLflow."""

import tempfile
from pathlib import Path

from comind.adapters.mlflow.tracking_store import SolutionVersion, TrackedRun, TrackingStore
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.splits.split_folder import SplitFolder
from comind.tables.csv_tables import read_header
from comind.wiring import prediction


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
            split=state.split.key,
            score=chosen.score.value,
            tags={
                "comind.campaign": campaign,
                "comind.attempt": delivered.id,
                "comind.metric": state.split.metric,
                "comind.submission_sha256": delivered.submitted.test_sha256,
                "comind.script_proof": state.proofs[delivered.id].proof,
            },
        )
        return f"{solution.name} version {store.register(run, solution)}"
