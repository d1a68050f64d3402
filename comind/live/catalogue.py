"""The competitions that a server shows: one folder for each, the pages and the files of each."""

import hashlib
import re
import threading
import zipfile
from datetime import UTC, datetime
from pathlib import Path

from comind.domain.competition import Competition
from comind.errors import CompetitionError
from comind.live.files import PlainFiles
from comind.live.world import MLELive

__all__ = ["Hosted", "competition_folders"]

_EVALUATION = re.compile(r"^#+\s*(evaluation|metric|scoring)\b.*$", re.IGNORECASE | re.MULTILINE)
_HEADING = re.compile(r"^#+\s", re.MULTILINE)


def competition_folders(data: Path) -> list[Path]:
    """Return the competition folders in a folder, sorted; the folder itself where it is one.

    Raises:
        CompetitionError: there is none.
    """
    if (data / "competition.yaml").is_file():
        return [data]
    found = sorted(path.parent for path in data.glob("*/competition.yaml")) if data.is_dir() else []
    if not found:
        raise CompetitionError(
            f"{data}: holds no competition folders", hint="each is a folder with a competition.yaml"
        )
    return found


class Hosted:
    """A competition with its world, as it is shown to the outside."""

    def __init__(self, world: MLELive, archives: Path) -> None:
        """Look at the competition's files; archives of them may be kept in the folder `archives`.

        Raises:
            CompetitionError: its folder `public` is a link.
        """
        self.world = world
        self.competition: Competition = world.competition
        if self.competition.public.is_symlink():
            raise CompetitionError(f"{self.competition.public}: is a symbolic link")
        self.files = PlainFiles(self.competition.public, hidden=self.competition.answers)
        self._archives = archives
        self._lock = threading.Lock()

    @property
    def id(self) -> str:
        """Name of the competition."""
        return self.competition.id

    def pages(self) -> dict[str, str]:
        """Return the texts about the competition by name: description, evaluation, rules."""
        place = self.files.find("description.md")
        text = place.read_text(encoding="utf-8", errors="replace") if place else self.competition.title
        licence = self.competition.licence or "not stated"
        limit = self.world.budget.submissions_per_day
        return {
            "description": text,
            "evaluation": _section(text) or f"Submissions are scored by {self.competition.metric}.",
            "rules": f"At most {limit} submissions a day. Licence of the data: {licence}.",
        }

    def time_of(self, path: Path) -> datetime:
        """Return the time that is told of a file: never one that is later than the world's."""
        changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        start = self.world.clock.start
        return changed if start is None else min(changed, start)

    def facts(self, files: PlainFiles) -> list[tuple[str, int, datetime]]:
        """Return name, size and time of each file."""
        found = files.items()
        return [(name, path.stat().st_size, self.time_of(path)) for name, path in found]

    def archive(self, name: str, files: PlainFiles) -> Path:
        """Return a zip archive of the files; made when they have changed since the last one."""
        found = list(files.items())
        digest = hashlib.sha256(str(files.root).encode())
        for file_name, path in found:
            facts = path.stat()
            digest.update(f"{file_name}\0{facts.st_size}\0{facts.st_mtime_ns}\0".encode())
        key = f"{name}-{digest.hexdigest()[:16]}.zip"
        target = self._archives / self.id / key
        with self._lock:
            if not target.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                staged = target.with_suffix(".new")
                with zipfile.ZipFile(staged, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                    for file_name, path in found:
                        _add(archive, file_name, path)
                staged.replace(target)
        return target


def _add(archive: zipfile.ZipFile, name: str, path: Path) -> None:
    """Add a file to an archive in pieces, without its time."""
    entry = zipfile.ZipInfo(name)
    entry.compress_type = zipfile.ZIP_DEFLATED
    with path.open("rb") as source, archive.open(entry, "w", force_zip64=True) as target:
        while chunk := source.read(1 << 20):
            target.write(chunk)


def _section(text: str) -> str:
    """Return the part of a description that says how submissions are scored."""
    heading = _EVALUATION.search(text)
    if heading is None:
        return ""
    after = _HEADING.search(text, heading.end())
    return text[heading.start() : after.start() if after else len(text)].strip()
