"""Lay out the files of projects, campaigns and pieces of work on disk."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from comind.campaign.log.messages import messages_file
from comind.campaign.log.outcome import Submitted
from comind.campaign.log.work_items import Attempt
from comind.domain.draft import Operator
from comind.domain.problem import PROGRAM
from comind.errors import CampaignError
from comind.system.files import hash_file

EVALUATOR = "evaluator"
"""Id of the work in which a model writes split and metric, and its role."""

EXPERIMENT_FOLDER = "runs/campaign"
"""In a campaign's commit: its summary for DVC.

The same for all campaigns, so that DVC shows their values in the same columns; git ignores it in the
working tree, so DVC lists it in commits only.
"""


class WorkFolder:
    """`runs/<campaign>/<work>/`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log = root / "log.jsonl"
        """Events of the work (`work_events.py`)."""
        self.messages = messages_file(self.log)
        """Messages of the requests to models."""
        self.workspace = root / "workspace"
        """Working directory of the code that runs; its content is untrusted."""
        self.packages = root / "packages"
        """Packages that the code installed, besides the interpreter's own."""
        self.installed = root / "packages.json"
        """Names, versions and hashes of these packages."""
        self.lineage = root / "lineage.json"
        """`AttemptLineage` of an attempt."""
        self.fitted = root / "fitted"
        """Models that the proof of the script saved, and loaded again; optional."""
        self.endpoint = root / "endpoint"
        """Socket of the endpoint of a model, while a cell runs whose programs may call it."""

    def script(self, name: str = "script.py") -> Path:
        """Return the path of the attempt's standalone script."""
        return self.root / name

    def submissions(self, step: int) -> Path:
        """Return the folder of the files that a step submitted, copied from the workspace."""
        return self.root / "submissions" / f"step-{step:03d}"

    def program(self, step: int) -> Path:
        """Return the path of the program that a step submitted, where submissions are programs."""
        return self.submissions(step) / PROGRAM

    def validation_submission(self, step: int) -> Path:
        """Return the path of the predictions for the validation rows, or of the program."""
        return _program_or(self.submissions(step) / "validation_submission.csv")

    def out_of_fold(self, step: int) -> Path:
        """Return the path of the out-of-fold predictions for rows of train.csv; optional."""
        return self.submissions(step) / "out_of_fold.csv"

    def sample_predictions(self, step: int) -> Path:
        """Return the path of the predictions for the validation rows of a step on the sample."""
        return self.submissions(step) / "sample_predictions.csv"

    def test_submission(self, step: int) -> Path:
        """Return the path of the predictions for the test rows, or of the program."""
        return _program_or(self.submissions(step) / "submission.csv")

    def picture(self, sha256: str) -> Path:
        """Return the path of a picture that a model was shown, by its hash."""
        return self.root / "pictures" / f"{sha256[:16]}.jpg"

    def files_of(self, submitted: Submitted) -> Iterator[tuple[Path, str]]:
        """Yield the path of each file that a step may submit, with its hash; empty if it did not."""
        step = submitted.step
        yield self.validation_submission(step), submitted.validation_sha256
        yield self.test_submission(step), submitted.test_sha256
        yield self.out_of_fold(step), submitted.out_of_fold_sha256
        for name, path in self.probabilities(submitted).items():
            yield path, submitted.probabilities[name]

    def probabilities(self, submitted: Submitted) -> dict[str, Path]:
        """Return the paths of the probabilities that a step submitted beside labels, by file name."""
        return {name: self.submissions(submitted.step) / name for name in submitted.probabilities}

    def verify(self, submitted: Submitted) -> None:
        """Check that the files that a step submitted are the graded ones.

        Raises:
            CampaignError: one was changed.
        """
        for path, sha256 in self.files_of(submitted):
            if sha256 and hash_file(path) != sha256:
                raise CampaignError(f"{path} was changed after it was graded")


class CampaignFolder:
    """`runs/<campaign>/`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.name = root.name
        """The campaign's id."""
        self.log = root / "log.jsonl"
        """Events of the campaign (`campaign_events.py`)."""
        self.program_log = root / "comind.log"
        """Records of our loggers while the campaign runs; the part before is in `comind.log.1`."""
        self.clock = root / "clock"
        """Running time of the campaign, saved every round."""
        self.program = root / PROGRAM
        """The best submission so far, where submissions are programs."""
        self.upload = root / "upload.csv"
        """The best submission in the form of the downloaded sample, if ids were added to it here."""
        self.journal = root / "journal.md"
        """Report for people."""
        self.runs = root / "runs.json"
        """Ids of MLflow runs by work id, and the campaign's under its name."""
        self.leaderboard = root / "leaderboard.csv"
        """All scored attempts, best first, each compared with the best on the same rows."""
        self.submission_before_refit = root / "submission-before-refit.csv"
        """The scored submission of the final pick, if a refit replaced it."""

    @property
    def submission(self) -> Path:
        """Return the path of the best submission so far: predictions, or a program."""
        return _program_or(self.root / "submission.csv")

    def code_diff(self, sha256: str) -> Path:
        """Return the path of the diff of uncommitted changes to CoMind's code."""
        return self.root / f"code-{sha256[:12]}.diff"

    def logs(self) -> list[Path]:
        """Return the logs of all work."""
        return sorted(self.root.glob("*/log.jsonl"))

    def work(self, work_id: str) -> WorkFolder:
        """Return the folder of one piece of work."""
        return WorkFolder(self.root / work_id)

    def validation_of(self, attempt: Attempt) -> Path:
        """Return the path of the validation predictions of an attempt or a fold run.

        Raises:
            CampaignError: it has no submission.
        """
        if attempt.submitted is None:
            raise CampaignError(f"{self.name}: {attempt.id} has no submission")
        return self.work(attempt.id).validation_submission(attempt.submitted.step)


class ProjectFolder:
    """Folder of a project: campaigns, data and tracking."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.runs = root / "runs"
        """One folder a campaign."""
        self.benches = root / "benches"
        """Results of benches, one folder each; their campaigns are in `runs`."""
        self.spend = self.runs / "spend.sqlite"
        """Cost of all campaigns, and their limit (`project_budget.py`)."""
        self.splits = root / "data" / "splits"
        """Splits, named by content; DVC versions them."""
        self.communities = root / "data" / "community"
        """Snapshots of communities, named by content; DVC versions them."""
        self.community_store = root / "data" / "knowledge" / "community"
        """The store that communities are imported into."""
        self.methods = root / "data" / "knowledge" / "methods"
        """Knowledge base of the project; DVC versions it."""
        self.kaggle = root / "data" / "kaggle"
        """Competitions fetched from Kaggle, by slug."""
        self.downloads = root / "data" / "downloads"
        """Competition folders arranged from downloaded files, by name."""
        self.prepared = root / "data" / "prepared"
        """The split of `dvc repro`."""
        self.tracking = root / "mlruns"
        """MLflow's database and artifacts."""
        self.orchestration = root / ".prefect"
        """Prefect's database and logs."""

    def overlapping(self, folder: Path, *others: Path) -> Path | None:
        """Return a folder with labels that overlaps with `folder`, of ours and `others`, if one does."""
        found = folder.resolve()
        for place in (each.resolve() for each in (*others, self.splits, self.downloads, self.prepared)):
            if place.is_relative_to(found) or found.is_relative_to(place):
                return place
        return None

    def solution(self, campaign: str, work_id: str) -> Path:
        """Return the folder of an attempt's published solution; versioned by DVC."""
        return self.root / "data" / "solutions" / campaign / work_id

    def published(self, campaign: str, work_id: str) -> Path:
        """Return the folder of published work; versioned by DVC.

        Refits and fold runs have folders of their own, which no attempt may read.
        """
        kind, _, _ = work_id.rpartition("-")
        folders = {Operator.REFIT.value: "refits", Operator.FOLD.value: "folds"}
        return self.root / "data" / folders.get(kind, "solutions") / campaign / work_id

    def campaigns(self) -> list[str]:
        """Return the names of all campaigns that have a log, sorted."""
        return sorted(log.parent.name for log in self.runs.glob("*/log.jsonl"))

    def campaign(self, name: str) -> CampaignFolder:
        """Return the folder of one campaign."""
        return CampaignFolder(self.runs / name)


def _program_or(file: Path) -> Path:
    """Return the program in the folder of a file, if there is one, else the file."""
    program = file.with_name(PROGRAM)
    return program if program.is_file() else file


def unknown_campaign(place: Path, name: str, known: Sequence[str]) -> CampaignError:
    """Return the error for a name that is none of the `known` campaigns in `place`."""
    hint = f"the newest are: {', '.join(known[-3:])}" if known else "none was started here"
    return CampaignError(f"{place}: there is no campaign {name!r}", hint=hint)
