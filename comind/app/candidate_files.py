"""Write the file that is sent to Kaggle: a graded submission in the form of the sample submission.

A candidate is named by the hash of its graded file, and `SubmissionStarted` has that of the file sent.
"""

from pathlib import Path

import pandas as pd

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.competitions.download.plain_download import upload_form_of
from comind.errors import CampaignError, CompetitionError, SubmissionError
from comind.following.events import Candidate
from comind.grading.submission_schema import like_sample
from comind.splits.split_folder import SplitFolder
from comind.system.files import hash_file
from comind.tables.csv_tables import read_table, row_keys, write_table


def upload_of(project: ProjectFolder, state: CampaignState, candidate: Candidate) -> Path:
    """Return the file to send for a candidate; the campaign may deliver another one by now.

    Raises:
        CampaignError: the campaign has no such submission, or it was changed after it was graded.
    """
    folder = project.campaign(candidate.campaign)
    for each in state.works.codes():
        if each.submitted is not None and each.submitted.test_sha256 == candidate.sha256:
            work, step = folder.work(each.id), each.submitted.step
            graded = work.test_submission(step)
            if not graded.is_file() or hash_file(graded) != candidate.sha256:
                raise CampaignError(f"{graded} was changed after it was graded")
            return write_upload(project, state, graded, work.submissions(step) / "upload.csv")
    raise CampaignError(f"{candidate.campaign}: has no submission with the hash {candidate.sha256[:12]}")


def write_upload(project: ProjectFolder, state: CampaignState, graded: Path, target: Path) -> Path:
    """Write a graded submission as the sample has it: labels, rows an id, no made ids.

    Returns:
        `target`; or `graded` where it has the sample's form already, and then there is no `target`.
    """
    if state.submits_programs:
        return graded
    competition = Path(state.spec.competition_folder)
    form = upload_form_of(competition)
    table = read_table(graded, SubmissionError)
    found = table
    if form.columns:
        test = read_table(competition / "public" / "test.csv", CompetitionError)
        here = [form.known_names.get(name, name) for name in form.columns]
        found = upload_table(table, test, [name for name in here if name not in form.constants])
    if state.split is not None:
        found = like_sample(found, SplitFolder(project.splits / state.split.key))
    found = form.outside(found)
    if found is table:
        target.unlink(missing_ok=True)
        return graded
    write_table(found, target)
    return target


def upload_table(submission: pd.DataFrame, test: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Return columns of a submission in the order of the test rows; ids are matched as in grading."""
    ids = [name for name in submission.columns if name not in columns]
    order = row_keys(submission, ids).get_indexer(row_keys(test, ids))
    return submission[columns].iloc[order]
