"""What was fetched of a competition, in `fetched.json` beside its data, so that only news is fetched."""

from datetime import datetime
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from comind.domain.value import Value
from comind.kaggle.port import CompetitionFacts, DataFile
from comind.system.files import write_atomically

__all__ = ["FetchRecord"]

_NAME = "fetched.json"


class FetchRecord(Value):
    """Written last: what it says is there."""

    facts: CompetitionFacts
    fetched_at: datetime
    files: tuple[DataFile, ...] = ()
    """The list of data files that `public/` was made from."""
    made: dict[str, tuple[str, ...]] = {}
    """By data file: the files below `public/` that it became."""
    pages_sha256: str = ""
    rules_sha256: str = ""
    described_sha256: str = ""
    """Of `competition.yaml` as we wrote it; one that was changed since is the user's."""

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """Return the record of a folder; None where there is none that can be read."""
        try:
            return cls.model_validate_json((folder / _NAME).read_bytes())
        except (OSError, ValidationError):
            return None

    def write(self, folder: Path) -> None:
        """Keep it in a folder."""
        write_atomically(folder / _NAME, self.model_dump_json(indent=1) + "\n")
