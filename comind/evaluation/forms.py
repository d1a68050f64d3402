"""The form of submissions to a split's test rows."""

from comind.errors import CompetitionError
from comind.evaluation.grading import SubmissionForm
from comind.evaluation.metrics import known_metric
from comind.evaluation.splits.split_folder import SplitFolder
from comind.evaluation.tables import read_table

__all__ = ["test_form"]


def test_form(folder: SplitFolder) -> SubmissionForm:
    """Return what a submission for test.csv must look like.

    Raises:
        CompetitionError: the split is not whole.
    """
    split = folder.read()
    metric = None if split.written else known_metric(split.metric)
    asked = read_table(folder.public / "test.csv", CompetitionError)
    return SubmissionForm(asked, split.id_columns, split.target_columns, metric)
