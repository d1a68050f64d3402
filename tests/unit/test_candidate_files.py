"""What is sent to Kaggle has the form of the sample submission, whichever command sends it."""

import json
from pathlib import Path

import pandas as pd
import pytest

from comind.app.campaign_slices import candidate_of
from comind.app.candidate_files import upload_of, upload_table, write_upload
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.errors import CampaignError
from tests.unit.campaign.world import World, hand_in

_NAME = "demo-tiny-1"


@pytest.fixture
def state(tmp_path: Path) -> CampaignState:
    """An ended campaign on a competition whose sample submission has no ids."""
    competition = tmp_path / "competition"
    (competition / "public").mkdir(parents=True)
    (competition / "public" / "test.csv").write_text("id,size\n0,1\n1,2\n")
    made = {"source": "here", "sha256": "", "described_sha256": "", "findings": []}
    (competition / "layout.json").write_text(json.dumps(made | {"upload_columns": ["price"]}))
    graded = "id,price\n1,b\n0,a\n"
    cells = {name: hand_in("0.9", test=graded) for name in ("good", "better")}
    world = World(tmp_path, cells=cells)
    campaign = world.campaign(competition_folder=str(competition), coders=1, refit=False, blend=False)
    return world.run(campaign)


def test_all_commands_send_the_same_file(state: CampaignState, tmp_path: Path) -> None:
    """The file of a followed day has the bytes of the delivered one, and the sample's form."""
    project = ProjectFolder(tmp_path)
    candidate = candidate_of(_NAME, state)
    assert candidate is not None
    sent = upload_of(project, state, candidate)
    delivered = tmp_path / "submission.csv"
    delivered.write_text("id,price\n1,b\n0,a\n")
    upload = write_upload(project, state, delivered, tmp_path / "upload.csv")
    assert sent.read_bytes() == upload.read_bytes() == b"price\na\nb\n"
    assert upload.name == "upload.csv"
    (tmp_path / "competition" / "layout.json").unlink()
    assert write_upload(project, state, delivered, upload) == delivered
    assert not upload.exists()


def test_only_a_graded_file_is_sent(state: CampaignState, tmp_path: Path) -> None:
    """A candidate that the campaign never had, or whose file was changed after grading, is refused."""
    project = ProjectFolder(tmp_path)
    candidate = candidate_of(_NAME, state)
    assert candidate is not None
    with pytest.raises(CampaignError, match="has no submission with the hash"):
        upload_of(project, state, candidate.model_copy(update={"sha256": "f" * 64}))
    for file in tmp_path.glob(f"runs/{_NAME}/*/submissions/*/submission.csv"):
        file.write_text("id,price\n1,c\n0,c\n")
    with pytest.raises(CampaignError, match="was changed after it was graded"):
        upload_of(project, state, candidate)


def test_rows_are_in_the_order_of_the_test_rows() -> None:
    """Rows in another order, with ids as floats, are matched as the grader matches them."""
    submission = pd.DataFrame({"id": ["62.0", "60", "61"], "price": ["c", "a", "b"]})
    test = pd.DataFrame({"id": ["60", "61", "62"], "size": ["1", "2", "3"]})
    found = upload_table(submission, test, ["price"])
    assert found.to_dict("list") == {"price": ["a", "b", "c"]}
