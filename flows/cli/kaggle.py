"""What commands do with competitions of Kaggle: fetch what is new, or go on with what is there."""

import sys
from pathlib import Path

from comind.errors import KaggleAccountError, KaggleBusyError, KaggleUnknownError

__all__ = ["fetch_from_kaggle", "kept_folder"]


def kept_folder(name: str, project: Path) -> Path | None:
    """Return the folder that a competition of Kaggle was fetched to, or None."""
    from comind.campaign.log.campaign_folders import ProjectFolder
    from comind.kaggle.fetch import slug_of

    slug = slug_of(name)
    if slug is None:
        return None
    folder = ProjectFolder(project).kaggle / slug
    return folder if (folder / "competition.yaml").is_file() else None


def fetch_from_kaggle(name: str, project: Path, *, else_name: str) -> Path | None:
    """Fetch what is new of a competition, and say what has to be known of it.

    Where Kaggle cannot be asked, what was fetched before is used, and that is said. `else_name` is what
    the user may have meant by the name, if not a competition of Kaggle.

    Returns:
        Its folder; None where this can be no name of Kaggle's.

    Raises:
        KaggleError: Kaggle cannot be reached, or refuses.
        CompetitionError: Kaggle has no such competition, or its files do not show what is what.
    """
    from comind.campaign.log.campaign_folders import ProjectFolder
    from comind.kaggle.fetch import fetch_competition, slug_of
    from comind.system.timing import ServerClock
    from comind.wiring.kaggle import open_kaggle
    from flows.params import read_params

    slug = slug_of(name)
    if slug is None:
        return None
    settings, place = read_params(project).kaggle, ProjectFolder(project).kaggle
    kept = kept_folder(name, project)
    try:
        time = ServerClock()
        kaggle = open_kaggle(settings, time)
        _tell(f"fetching what is new of {slug} from {settings.endpoint or 'www.kaggle.com'}")
        fetched = fetch_competition(kaggle, slug, place, limits=settings.wanted, clock=time)
    except (KaggleAccountError, KaggleBusyError) as error:
        if kept is not None:
            _tell(f"{error}; what was fetched before is used")
            return kept
        if isinstance(error, KaggleBusyError):
            raise
        said = f"{name}: there is no such folder, and Kaggle cannot be asked: {error}"
        hint = f"{else_name}; for Kaggle, {error.hint}"
        raise KaggleAccountError(said, hint=hint, missing=error.missing) from None
    except KaggleUnknownError as error:
        raise KaggleUnknownError(f"{error}; there is no such folder, either", hint=else_name) from None
    for note in fetched.notes:
        _tell(note)
    news = fetched.community
    _tell(f"new: {news.notebooks} notebooks, {news.discussions} discussions, {news.datasets} datasets")
    return fetched.folder


def _tell(line: str) -> None:
    print(f"kaggle: {line}", file=sys.stderr, flush=True)
