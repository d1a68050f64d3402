"""Arrange plain downloads as competition folders below the project, and report what was inferred."""

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.competitions.competition_folder import is_problem
from comind.competitions.download.findings import OpenQuestionError, Question
from comind.competitions.download.plain_download import Layout, arrange_download, source_of
from comind.errors import CompetitionError
from comind.grading.benchmarks import find_prepared

Ask = Callable[[Question], str | list[str] | None]
"""Returns the user's answer to what is open; None leaves it open."""

_ARCHIVES = re.compile(r"(\.(zip|tar|tgz|gz|7z|rar))+$", re.IGNORECASE)


def is_plain_download(path: Path) -> bool:
    """Return whether a path holds files as they were downloaded, rather than a competition folder."""
    if path.is_file():
        return True
    if is_problem(path):
        return False
    described = (path / "competition.yaml").is_file()
    return not (described and (path / "public").is_dir()) and find_prepared(path) is None


def prepare_download(source: Path, project: Path, describe: str = "", ask: Ask | None = None) -> Layout:
    """Arrange a download below `data/downloads`, unless it is there and has not changed.

    Raises:
        CompetitionError: its tables are missing or ambiguous, a file cannot be read, or the project is
            inside of it.
        DiskError: there is not enough disk space to unpack an archive.
    """
    if project.resolve().is_relative_to(source.resolve()):
        raise CompetitionError(
            f"{source}: holds the project's folder {project}, so its files are not a download alone",
            hint="move the files into a folder of their own, or name another project with --out",
        )
    target = _place_of(source, ProjectFolder(project).downloads)
    try:
        return arrange_download(source, target, describe=describe)
    except OpenQuestionError as error:
        answer = ask(error.question) if ask is not None else None
        if answer is None:
            raise
        answers = {error.question.key: answer}
        return arrange_download(source, target, describe=describe, answers=answers)


def _place_of(source: Path, downloads: Path) -> Path:
    """Return the folder of a download: the one made from the same path in any form, or a new one.

    Relative paths, links and `..` lead to the same path.
    """
    real = source.resolve()
    for record in sorted(downloads.glob("*/layout.json"), key=lambda path: len(path.parent.name)):
        made_from = source_of(record.parent)
        if made_from is not None and Path(made_from).resolve() == real:
            return record.parent
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", _ARCHIVES.sub("", source.name)).strip("-_")[:60] or "download"
    if source_of(downloads / name) is not None:  # another download of the same name
        name += f"-{hashlib.sha256(str(real).encode()).hexdigest()[:6]}"
    return downloads / name


def settle_questions(layout: Layout, source: Path, describe: str, ask: Ask) -> Layout:
    """Ask what competition.yaml leaves open, and write the answers to it."""
    asked = ((question.key, ask(question)) for question in layout.questions())
    answers = {key: answer for key, answer in asked if answer is not None}
    if not answers:
        return layout
    return arrange_download(source, layout.folder, describe=describe, answers=answers)


def report_lines(layout: Layout, source: Path) -> list[str]:
    """Return what was inferred about a download, as lines for the terminal."""
    described = layout.folder / "competition.yaml"
    shown = described.relative_to(Path.cwd()) if described.is_relative_to(Path.cwd()) else described
    last = f"{shown} was changed by hand and is used as it is" if layout.kept else f"written to {shown}"
    return [f"{layout.folder.name}: inferred from {source.name}", *layout.lines(), f"  {last}"]
