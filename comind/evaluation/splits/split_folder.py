"""Where the parts of a split lie, and what is written about them."""

from pathlib import Path

from comind.domain.competition import SplitRule
from comind.domain.problem import Task
from comind.domain.value import Name, Value
from comind.errors import CompetitionError

__all__ = ["RelatedShare", "Split", "SplitFolder"]


class RelatedShare(Value):
    """How many rows stand near the rows to learn from, in one way: test rows beside validation rows."""

    rows: str
    """What rows that stand so are, such as "of groups of one patient that have other rows in train"."""
    test: float
    validation: float
    own: bool = False
    """Whether this is what the rule goes by."""
    compared: bool = False
    """Whether the figures are no shares but 2 - 2 AUC of a model that tells the rows from train rows."""


class Split(Task):
    """How a split was made, and what is in it; `split.json`."""

    key: Name
    rule: SplitRule
    rule_reason: str
    """Where the rule comes from: the folder's description, or what was seen in the data."""
    sure: float | None = None
    """How sure it is that validation stands to train as test does, from 0 to 1; None where not known."""
    ties: tuple[RelatedShare, ...] = ()
    """What test and validation rows share with the rows to learn from, the rule's own first."""
    warnings: tuple[str, ...] = ()
    """A line for each way in which validation is easier than test."""
    seed: int
    written: bool
    """Whether a model wrote the evaluator, as the competition names no metric."""
    public_sha256: str
    sealed_sha256: str


class SplitFolder:
    """`data/splits/<key>/`: what attempts see, what only the grader sees, and how it was made."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.public = root / "public"
        self.sealed = root / "sealed"
        self.described = root / "split.json"
        self.answers = self.sealed / "validation_answers.csv"
        self.groups = self.sealed / "validation_groups.csv"
        """Which validation rows belong together, in the order of the answers; group splits only."""
        self.facts = root / "facts.txt"
        """What models are told of the public files, once one was; later ones see the same."""
        self.folds = root / "folds"
        """The fold of each row of train.csv, made from the split by whoever needs it first."""
        self.programs = self.sealed / "evaluator"
        """The evaluator that a model wrote, frozen; only where the competition names no metric."""
        self.full = self.sealed / "full"
        """Files of `public` as they were before rows were held back; what a refit learns from."""
        self.sample = self.public / "sample_submission.csv"
        self.validation_sample = self.public / "sample_validation_submission.csv"

    @property
    def is_complete(self) -> bool:
        """Whether both parts are there; a clone may have only what is written about them."""
        return self.described.is_file() and self.public.is_dir() and self.sealed.is_dir()

    def read(self) -> Split:
        """Return how the split was made.

        Raises:
            CompetitionError: there is no finished split in this folder.
        """
        try:
            return Split.model_validate_json(self.described.read_text())
        except (OSError, ValueError):
            raise CompetitionError(f"{self.root}: is not a finished split") from None
