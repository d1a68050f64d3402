"""Where a campaign keeps its things."""

from dataclasses import dataclass
from pathlib import Path

from comind.domain.draft import Operator

__all__ = ["CampaignFolder", "ProjectFolder", "WorkFolder"]


@dataclass(frozen=True, slots=True)
class WorkFolder:
    """What one piece of work keeps."""

    root: Path

    @property
    def log(self) -> Path:
        """Everything that happened, in order."""
        return self.root / "log.jsonl"

    @property
    def workspace(self) -> Path:
        """Working directory of the code that runs; its content is untrusted."""
        return self.root / "workspace"

    @property
    def packages(self) -> Path:
        """Packages that the code asked for, beside the interpreter's own."""
        return self.root / "packages"

    @property
    def installed(self) -> Path:
        """Names, versions and hashes of these packages."""
        return self.root / "packages.json"

    @property
    def lineage(self) -> Path:
        """What an attempt came from, by hash."""
        return self.root / "lineage.json"

    def script(self, name: str = "script.py") -> Path:
        """Return where the standalone script of an attempt lies."""
        return self.root / name

    def submissions(self, step: int) -> Path:
        """Folder of the pair of files that a step handed in, as taken in by us."""
        return self.root / "submissions" / f"step-{step:03d}"

    def validation_submission(self, step: int) -> Path:
        """Predictions for the validation rows."""
        return self.submissions(step) / "validation_submission.csv"

    def test_submission(self, step: int) -> Path:
        """Predictions for the test rows."""
        return self.submissions(step) / "submission.csv"


@dataclass(frozen=True, slots=True)
class CampaignFolder:
    """`runs/<campaign>/`."""

    root: Path

    @property
    def name(self) -> str:
        """The campaign's id."""
        return self.root.name

    @property
    def log(self) -> Path:
        """The campaign's own events."""
        return self.root / "log.jsonl"

    @property
    def clock(self) -> Path:
        """How long the campaign has been running, as of a moment ago."""
        return self.root / "clock"

    @property
    def submission(self) -> Path:
        """The best submission so far, ready to hand in."""
        return self.root / "submission.csv"

    @property
    def journal(self) -> Path:
        """What was read, thought and tried, for people."""
        return self.root / "journal.md"

    @property
    def runs(self) -> Path:
        """MLflow's ids of the campaign's runs, by work; the campaign's own under its name."""
        return self.root / "runs.json"

    def code_diff(self, sha256: str) -> Path:
        """Return where the changes of CoMind's code lie that no commit holds."""
        return self.root / f"code-{sha256[:12]}.diff"

    @property
    def leaderboard(self) -> Path:
        """All scored attempts, best first, each compared with the best on the same rows."""
        return self.root / "leaderboard.csv"

    @property
    def submission_before_refit(self) -> Path:
        """The final pick's submission as it was scored, where a refit takes its place."""
        return self.root / "submission-before-refit.csv"

    def work(self, work_id: str) -> WorkFolder:
        """Return the folder of one piece of work."""
        return WorkFolder(self.root / work_id)


@dataclass(frozen=True, slots=True)
class ProjectFolder:
    """Where campaigns, data and tracking of one project lie."""

    root: Path

    @property
    def runs(self) -> Path:
        """One folder a campaign."""
        return self.root / "runs"

    @property
    def splits(self) -> Path:
        """Splits, named by content; DVC versions them."""
        return self.root / "data" / "splits"

    @property
    def communities(self) -> Path:
        """Snapshots of communities, named by content; DVC versions them."""
        return self.root / "data" / "community"

    @property
    def kaggle(self) -> Path:
        """Competitions that were fetched from Kaggle, by their names there."""
        return self.root / "data" / "kaggle"

    def solution(self, campaign: str, work_id: str) -> Path:
        """Published solution of one attempt; DVC versions it."""
        return self.root / "data" / "solutions" / campaign / work_id

    def refit(self, campaign: str, work_id: str) -> Path:
        """What a refit handed in; DVC versions it, and no attempt may see it."""
        return self.root / "data" / "refits" / campaign / work_id

    def published(self, campaign: str, work_id: str) -> Path:
        """Return where the files lie that an attempt published; those of a refit lie apart."""
        refit = work_id.startswith(Operator.REFIT.value)
        return (self.refit if refit else self.solution)(campaign, work_id)

    @property
    def tracking(self) -> Path:
        """MLflow's database and artifacts."""
        return self.root / "mlruns"

    @property
    def orchestration(self) -> Path:
        """Prefect's database and logs."""
        return self.root / ".prefect"

    def campaign(self, name: str) -> CampaignFolder:
        """Return the folder of one campaign."""
        return CampaignFolder(self.runs / name)
