"""Host competition folders: discover them, and expose pages, files and archives of each."""

import hashlib
import re
import threading
import zipfile
from datetime import UTC, datetime
from pathlib import Path

from comind.domain.competition import Competition
from comind.errors import CompetitionError
from comind.live.answer_copies import answer_copies
from comind.live.plain_files import PlainFiles
from comind.live.world import MLELive

_EVALUATION = re.compile(r"^#+\s*(evaluation|metric|scoring)\b.*$", re.IGNORECASE | re.MULTILINE)
_HEADING = re.compile(r"^#+\s", re.MULTILINE)


def find_competition_folders(data: Path) -> list[Path]:
    """Return the competition folders in a folder, sorted, or the folder itself if it is one.

    Raises:
        CompetitionError: there is none.
    """
    if (data / "competition.yaml").is_file():
        return [data]
    if not data.is_dir():
        raise CompetitionError(f"{data}: does not exist", hint="name a folder of competition folders")
    found = sorted(path.parent for path in data.glob("*/competition.yaml"))
    if not found:
        raise CompetitionError(
            f"{data}: contains no competition folders",
            hint="a competition folder has a competition.yaml",
        )
    return found


class HostedCompetition:
    """A replayed competition, and the files and pages that clients can read."""

    def __init__(self, world: MLELive, archives: Path) -> None:
        """Open the competition's public files; zip archives of them are cached in `archives`.

        Raises:
            CompetitionError: its folder `public` is a symbolic link, or holds a copy of the answers.
        """
        self.world = world
        self.competition: Competition = world.competition
        if self.competition.public.is_symlink():
            raise CompetitionError(f"{self.competition.public}: is a symbolic link")
        self.files = PlainFiles(self.competition.public, hidden=self.competition.answers)
        for copy in answer_copies(self.files, self.competition.answers):
            raise CompetitionError(
                f"{self.competition.public}/{copy} has the content of private/answers.csv",
                hint="remove it from the public files",
            )
        self._archives = archives
        self._lock = threading.Lock()

    @property
    def id(self) -> str:
        """The competition's slug."""
        return self.competition.id

    def pages(self) -> dict[str, str]:
        """Return the competition's pages: description, evaluation and rules."""
        path = self.files.find("description.md")
        text = path.read_text(encoding="utf-8", errors="replace") if path else self.competition.title
        licence = self.competition.licence or "not stated"
        limit = self.world.budget.submissions_per_day
        return {
            "description": text,
            "evaluation": _evaluation(text) or f"Submissions are scored by {self.competition.metric}.",
            "rules": f"At most {limit} submissions a day. Licence of the data: {licence}.",
        }

    def modified_at(self, path: Path) -> datetime:
        """Return a file's modification time, capped at the start of the simulated time."""
        changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        start = self.world.clock.start
        return changed if start is None else min(changed, start)

    def stat_files(self, files: PlainFiles | None) -> list[tuple[str, int, datetime]]:
        """Return name, bytes and modification time of each file; None has none."""
        found = files.items() if files else ()
        return [(name, path.stat().st_size, self.modified_at(path)) for name, path in found]

    def archive(self, name: str, files: PlainFiles) -> Path:
        """Return a zip archive of the files, cached until a file's size or modification time changes."""
        found = list(files.items())
        digest = hashlib.sha256(str(files.root).encode())
        for file_name, path in found:
            status = path.stat()
            digest.update(f"{file_name}\0{status.st_size}\0{status.st_mtime_ns}\0".encode())
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
    """Stream a file into an archive, without its modification time."""
    entry = zipfile.ZipInfo(name)
    entry.compress_type = zipfile.ZIP_DEFLATED
    with path.open("rb") as source, archive.open(entry, "w", force_zip64=True) as target:
        while chunk := source.read(1 << 20):
            target.write(chunk)


def _evaluation(text: str) -> str:
    """Return the section of a description on evaluation, or ""."""
    heading = _EVALUATION.search(text)
    if heading is None:
        return ""
    after = _HEADING.search(text, heading.end())
    return text[heading.start() : after.start() if after else len(text)].strip()
