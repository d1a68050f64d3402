"""Where a campaign keeps its things."""

from collections.abc import Sequence
from pathlib import Path

from comind.campaign.works import Attempt
from comind.domain.draft import Operator
from comind.errors import CampaignError

__all__ = ["CampaignFolder", "ProjectFolder", "WorkFolder", "unknown_campaign"]


class WorkFolder:
    """What one piece of work keeps."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log = root / "log.jsonl"
        """Everything that happened, in order."""
        self.workspace = root / "workspace"
        """Working directory of the code that runs; its content is untrusted."""
        self.packages = root / "packages"
        """Packages that the code asked for, beside the interpreter's own."""
        self.installed = root / "packages.json"
        """Names, versions and hashes of these packages."""
        self.lineage = root / "lineage.json"
        """What an attempt came from, by hash."""

    def script(self, name: str = "script.py") -> Path:
        """Return where the standalone script of an attempt lies."""
        return self.root / name

    def submissions(self, step: int) -> Path:
        """Folder of the files that a step handed in, as taken in by us."""
        return self.root / "submissions" / f"step-{step:03d}"

    def validation_submission(self, step: int) -> Path:
        """Predictions for the validation rows."""
        return self.submissions(step) / "validation_submission.csv"

    def out_of_fold(self, step: int) -> Path:
        """Predictions for rows of train.csv, each by a model that had not seen the row; optional."""
        return self.submissions(step) / "out_of_fold.csv"

    def test_submission(self, step: int) -> Path:
        """Predictions for the test rows."""
        return self.submissions(step) / "submission.csv"


class CampaignFolder:
    """`runs/<campaign>/`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.name = root.name
        """The campaign's id."""
        self.log = root / "log.jsonl"
        """The campaign's own events."""
        self.clock = root / "clock"
        """How long the campaign has been running, as of a moment ago."""
        self.submission = root / "submission.csv"
        """The best submission so far, ready to hand in."""
        self.journal = root / "journal.md"
        """What was read, thought and tried, for people."""
        self.runs = root / "runs.json"
        """MLflow's ids of the campaign's runs, by work; the campaign's own under its name."""
        self.leaderboard = root / "leaderboard.csv"
        """All scored attempts, best first, each compared with the best on the same rows."""
        self.submission_before_refit = root / "submission-before-refit.csv"
        """The final pick's submission as it was scored, where a refit takes its place."""

    def code_diff(self, sha256: str) -> Path:
        """Return where the changes of CoMind's code lie that no commit holds."""
        return self.root / f"code-{sha256[:12]}.diff"

    def logs(self) -> list[Path]:
        """Return the logs of all work."""
        return sorted(self.root.glob("*/log.jsonl"))

    def work(self, work_id: str) -> WorkFolder:
        """Return the folder of one piece of work."""
        return WorkFolder(self.root / work_id)

    def validation_of(self, attempt: Attempt) -> Path:
        """Return the predictions for the validation rows that an attempt, or a run on a fold, handed in.

        Raises:
            CampaignError: it handed nothing in.
        """
        if attempt.submitted is None:
            raise CampaignError(f"{self.name}: {attempt.id} handed nothing in")
        return self.work(attempt.id).validation_submission(attempt.submitted.step)


class ProjectFolder:
    """Where campaigns, data and tracking of one project lie."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.runs = root / "runs"
        """One folder a campaign."""
        self.splits = root / "data" / "splits"
        """Splits, named by content; DVC versions them."""
        self.communities = root / "data" / "community"
        """Snapshots of communities, named by content; DVC versions them."""
        self.kaggle = root / "data" / "kaggle"
        """Competitions that were fetched from Kaggle, by their names there."""
        self.tracking = root / "mlruns"
        """MLflow's database and artifacts."""
        self.orchestration = root / ".prefect"
        """Prefect's database and logs."""

    def solution(self, campaign: str, work_id: str) -> Path:
        """Published solution of one attempt; DVC versions it."""
        return self.root / "data" / "solutions" / campaign / work_id

    def refit(self, campaign: str, work_id: str) -> Path:
        """What a refit handed in; DVC versions it, and no attempt may see it."""
        return self.root / "data" / "refits" / campaign / work_id

    def fold(self, campaign: str, work_id: str) -> Path:
        """What a run on a fold handed in; DVC versions it, and no attempt may see it."""
        return self.root / "data" / "folds" / campaign / work_id

    def published(self, campaign: str, work_id: str) -> Path:
        """Return where the files lie that work published; those of refits and fold runs lie apart."""
        kind, _, _ = work_id.rpartition("-")
        places = {Operator.REFIT.value: self.refit, Operator.FOLD.value: self.fold}
        return places.get(kind, self.solution)(campaign, work_id)

    def campaigns(self) -> list[str]:
        """Return the names of all campaigns that have a log, in order."""
        return sorted(log.parent.name for log in self.runs.glob("*/log.jsonl"))

    def campaign(self, name: str) -> CampaignFolder:
        """Return the folder of one campaign."""
        return CampaignFolder(self.runs / name)


def unknown_campaign(place: Path, name: str, known: Sequence[str]) -> CampaignError:
    """Return the error for a name that none of the campaigns in `place` has."""
    hint = f"the newest are: {', '.join(known[-3:])}" if known else "none was started here"
    return CampaignError(f"{place}: there is no campaign {name!r}", hint=hint)
