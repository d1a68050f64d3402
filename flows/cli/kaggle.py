"""Fetch competitions from Kaggle for commands, with a fallback to what was fetched before."""

import sys
from pathlib import Path

from comind.errors import KaggleAccountError, KaggleBusyError, KaggleUnknownError

__all__ = ["fetch_from_kaggle", "kept_folder"]


def kept_folder(name: str, project: Path) -> Path | None:
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
    from comind.campaign.log.campaign_folders import ProjectFolder
    from comind.kaggle.fetch import fetch_competition, slug_of
    from comind.system.timing import ServerClock
    from comind.wiring.competition_data import open_kaggle
    from flows.params import read_params

    slug = slug_of(name)
    if slug is None:
        return None
    settings, place = read_params(project).kaggle, ProjectFolder(project).kaggle
    kept = kept_folder(name, project)
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
    _print(f"new: {news.notebooks} notebooks, {news.discussions} discussions, {news.datasets} datasets")
    return fetched.folder


def _print(line: str) -> None:
    print(f"kaggle: {line}", file=sys.stderr, flush=True)
