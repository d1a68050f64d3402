"""List what a campaign would read of a competition's community, best first."""

from datetime import datetime
from pathlib import Path
from typing import Any

from comind.community.snapshot import ranked_view
from comind.errors import ComindError
from comind.evaluation.competition_folder import load_competition
from comind.evaluation.metrics import find_metric
from flows.project.params import read_params

__all__ = ["list_community", "listing_text"]

_NO_METRIC = "the metric is not known here, so a higher public score counts as the better one"


def list_community(
    project: Path, store: Path, competition: str, folder: Path | None, moment: datetime | None
) -> dict[str, Any]:
    """Return the notebooks, discussions and datasets that a campaign would read, and what is left out.

    Args:
        project: its params.yaml has the numbers of notebooks and discussions.
        store: the community store.
        competition: the name of the competition in the store.
        folder: the competition's folder, which names the metric; None if there is none.
        moment: the as-of time; None for everything.

    Raises:
        CommunityError: the store contains nothing of the competition.
    """
    given = read_params(project).solve
    maximize = _direction(folder)
    _, view = ranked_view(
        store,
        competition=competition,
        as_of=moment,
        maximize=maximize is not False,
        notebooks=given.notebooks,
        discussions=given.discussions,
    )
    shown = view.model_dump(
        mode="json",
        include={
            "notebooks": {
                "__all__": {"ref", "version", "title", "author", "votes", "public_score", "created_at"}
            },
            "discussions": {"__all__": {"id", "title", "author", "votes", "posted_at"}},
            "datasets": {"__all__": {"ref", "version", "title", "published_at"}},
        },
    )
    for row, discussion in zip(shown["discussions"], view.discussions, strict=True):
        row["comments"] = len(discussion.comments)
    notes = [_NO_METRIC] if maximize is None else []
    return shown | {"left_out": [*notes, *view.left_out]}


def _direction(folder: Path | None) -> bool | None:
    """Return whether a higher score of a competition is better; None if that is not known."""
    try:
        return None if folder is None else find_metric(load_competition(folder)).maximize
    except ComindError:
        return None


def listing_text(listed: dict[str, Any]) -> str:
    """Return a listing as lines of text."""
    lines = ["", "what a campaign would read, best first:"]
    for place, each in enumerate(listed["notebooks"], start=1):
        score = "no score" if each["public_score"] is None else f"{each['public_score']:g}"
        facts = f"version {each['version']}, {score}, {each['votes']} votes, {_day(each['created_at'])}"
        lines.append(f"notebook {place:3}    {each['ref']}: {each['title']} ({facts})")
    for place, each in enumerate(listed["discussions"], start=1):
        facts = f"{each['votes']} votes, {each['comments']} comments, {_day(each['posted_at'])}"
        lines.append(f"discussion {place:3}  {each['id']}: {each['title']} ({facts})")
    for place, each in enumerate(listed["datasets"], start=1):
        facts = f"version {each['version']}, {_day(each['published_at'])}"
        lines.append(f"dataset {place:3}     {each['ref']}: {each['title']} ({facts})")
    lines += [f"not used        {note}" for note in listed["left_out"]]
    return "\n".join(lines) + "\n"


def _day(time: str | None) -> str:
    return time[:10] if time else "no time"
