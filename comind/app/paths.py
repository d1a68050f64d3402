"""Find or fetch the folders and competitions that a command names; write the files that it names."""

import contextlib
import sys
from pathlib import Path

from comind.demos import demo_names
from comind.errors import (
    CompetitionError,
    KaggleAccountError,
    KaggleBusyError,
    KaggleUnknownError,
    UsageError,
)
from comind.system.disk import full_disk
from comind.system.files import write_atomically


def find_project(out: str | None) -> Path:
    """Return the project's folder: `--out`, else the closest parent with `.dvc`, else the current one.

    Raises:
        UsageError: the folder is not writable.
        DiskError: its disk is full.
    """
    if out is not None:
        folder = Path(out).absolute()
    else:
        here = Path.cwd()
        folder = next((f for f in (here, *here.parents) if (f / ".dvc").is_dir()), here)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".comind-can-write"
        probe.touch()
        probe.unlink()
    except OSError as error:
        reason = (error.strerror or "refused").lower()
        raise full_disk(error, folder, "the project") or UsageError(
            f"{folder}: cannot be written to ({reason})", hint="name another folder"
        ) from None
    return folder


def write_page_file(file: Path, page: str) -> None:
    """Write a page to the file that the user named.

    Raises:
        UsageError: the file cannot be written.
    """
    try:
        write_atomically(file, page)
    except OSError as error:
        reason = (error.strerror or "refused").lower()
        raise UsageError(f"{file}: cannot be written ({reason})") from None


def open_project(out: str | None) -> Path:
    """Return the project's folder, initialized as a git and DVC repository.

    Raises:
        UsageError: the folder is not writable, or it is the home folder and no project yet.
        OrchestrationError: git or DVC fails.
    """
    from comind.adapters.dvc.versioning import ensure_repository
    from comind.app.projects import announce_project
    from comind.servers.tool_servers import prepare_environment

    project = find_project(out)
    announce_project(project)
    prepare_environment(project)
    ensure_repository(project)
    return project


def find_competition(name: str, project: Path) -> Path:
    """Return the folder of a competition: a path, a built-in demo, or one fetched from Kaggle before.

    A plain download is arranged as a competition folder first.

    Raises:
        CompetitionError: there is none of this name.
    """
    found = _folder_or_demo(name, project) or _kept_folder(name, project)
    if found is None:
        raise CompetitionError(f"{name[:200]}: there is no such folder", hint=_known_names())
    return found


def refuse_missing_path(name: str) -> None:
    """Refuse what can only be a path, and where nothing is; at once, as nothing else is imported.

    Raises:
        CompetitionError: there is no such file or folder.
    """
    there = False
    with contextlib.suppress(OSError):  # the name exceeds the limit of the file system
        there = Path(name).exists()
    if name.startswith(("/", ".", "~")) and not there:
        raise CompetitionError(f"{name[:200]}: there is no such folder", hint=_known_names())


def _folder_or_demo(name: str, project: Path, describe: str = "") -> Path | None:
    given = Path(name)
    path = given.resolve() if ".." in given.parts else given.absolute()  # a link keeps its own name
    there = False
    with contextlib.suppress(OSError):  # the name exceeds the limit of the file system
        there = path.exists()
    if there:
        from comind.app.downloads import is_plain_download

        if is_plain_download(path):
            return _arranged(path, project, describe)
    if describe:
        raise UsageError(
            f"--describe: has no effect, as {name[:200]} is no folder or zip of a plain download"
        )
    if there:
        return path
    if name not in demo_names():
        return None
    from comind.demos.make import make_demo

    return make_demo(name, project / "data" / "demos")


def _arranged(download: Path, project: Path, describe: str) -> Path:
    """Arrange a plain download, print what was inferred, and ask what is open if a person is there."""
    from comind.app.downloads import prepare_download, report_lines, settle_questions
    from comind.app.terminal.questions import ask_user, may_ask

    ask = ask_user if may_ask() else None
    layout = prepare_download(download, project, describe, ask)
    for line in report_lines(layout, download):
        print(line, file=sys.stderr, flush=True)
    return settle_questions(layout, download, describe, ask).folder if ask else layout.folder


def _known_names() -> str:
    return f"name a competition's folder or zip, or one of the demos: {', '.join(demo_names())}"


def find_or_fetch_competition(name: str, project: Path, describe: str = "") -> Path:
    """Return the folder of a competition to solve: a path, a built-in demo, or fetched from Kaggle.

    Data that a benchmark prepared is adapted on first use, and a plain download arranged; `describe` is
    its description where none of its files is one.

    Raises:
        CompetitionError: there is none of this name, or a campaign does not support its format.
        UsageError: what it names is no download, which alone `describe` is for.
        KaggleError: Kaggle cannot be reached, or refuses.
    """
    from comind.grading.benchmarks import find_prepared

    folder = _folder_or_demo(name, project, describe)
    folder = folder or fetch_from_kaggle(name, project, else_name=_known_names())
    if folder is None:
        raise CompetitionError(f"{name[:200]}: there is no such folder", hint=_known_names())
    prepared = find_prepared(folder)
    return folder if prepared is None else prepared.adapted_in(project / "data" / "prepared")


def _kept_folder(name: str, project: Path) -> Path | None:
    """Return the folder of a competition that was fetched from Kaggle before, or None."""
    from comind.campaign.log.campaign_folders import ProjectFolder
    from comind.kaggle.fetch import slug_of

    slug = slug_of(name)
    if slug is None:
        return None
    folder = ProjectFolder(project).kaggle / slug
    return folder if (folder / "competition.yaml").is_file() else None


def fetch_from_kaggle(name: str, project: Path, *, else_name: str) -> Path | None:
    """Fetch what is new of a competition, and print notes on it to stderr.

    Where Kaggle is unavailable, what was fetched before is used. `else_name` is a hint for error
    messages: what else the name could have meant.

    Returns:
        The competition's folder; None where `name` is no valid name on Kaggle.

    Raises:
        KaggleError: Kaggle cannot be reached, or refuses.
        CompetitionError: Kaggle has no such competition, or the roles of its files are unclear.
    """
    from comind.app.params import read_params
    from comind.campaign.log.campaign_folders import ProjectFolder
    from comind.kaggle.fetch import fetch_competition, slug_of
    from comind.system.timing import ServerClock
    from comind.wiring.competition_data import open_kaggle

    slug = slug_of(name)
    if slug is None:
        return None
    settings, place = read_params(project).kaggle, ProjectFolder(project).kaggle
    kept = _kept_folder(name, project)
    try:
        time = ServerClock()
        kaggle = open_kaggle(settings, time)
        _print(f"fetching what is new of {slug} from {settings.endpoint or 'www.kaggle.com'}")
        fetched = fetch_competition(kaggle, slug, place, limits=settings.wanted, clock=time)
    except (KaggleAccountError, KaggleBusyError) as error:
        if kept is not None:
            _print(f"{error}; what was fetched before is used")
            return kept
        if isinstance(error, KaggleBusyError):
            raise
        message = f"{name}: there is no such folder, and Kaggle is unavailable: {error}"
        hint = f"{else_name}; for Kaggle, {error.hint}"
        raise KaggleAccountError(message, hint=hint, missing=error.missing) from None
    except KaggleUnknownError as error:
        raise KaggleUnknownError(f"{error}; there is no such folder, either", hint=else_name) from None
    for note in fetched.notes:
        _print(note)
    news = fetched.community
    counts = f"{news.notebooks} notebooks, {news.discussions} discussions, {news.datasets} datasets"
    _print(f"new: {counts}; files of {news.files} notebooks and datasets")
    return fetched.folder


def _print(line: str) -> None:
    print(f"kaggle: {line}", file=sys.stderr, flush=True)
