"""List what a campaign would read of a competition's community, best first."""

from pathlib import Path
from typing import Any

from comind.app.deadline import deadline_passed
from comind.app.params import parse_as_of, read_params
from comind.community.snapshot import ranked_view
from comind.competitions.competition_folder import load_competition
from comind.domain.competition import Competition
from comind.errors import ComindError
from comind.metrics import find_metric
from comind.system.plurals import quantity

_NO_METRIC = "the metric is not known here, so a higher public score counts as the better one"


def list_community(
    project: Path, store: Path, competition: str, folder: Path | None, as_of: str | None
) -> dict[str, Any]:
    """Return the notebooks, discussions and datasets that a campaign would read, and what is left out.

    Args:
        project: its params.yaml has the numbers of notebooks and discussions.
        store: the community store.
        competition: the name of the competition in the store.
        folder: the competition's folder, which names metric and deadline; None if there is none.
        as_of: the as-of time as a user gave it; None for that of a campaign.

    Raises:
        CommunityError: the store contains nothing of the competition.
    """
    given = read_params(project).solve
    described = _described(folder)
    maximize = None if described is None else _direction(described)
    moment = deadline_passed(competition, described) if as_of is None else parse_as_of(as_of)
    _, view = ranked_view(
        store,
        competition=competition,
        as_of=moment,
        maximize=maximize is not False,
        selection=given.selection,
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
    return shown | {
        "as_of": moment and moment.isoformat(),
        "further": len(view.further_notebooks) + len(view.further_discussions),
        "left_out": [*notes, *view.left_out],
    }


def _described(folder: Path | None) -> Competition | None:
    """Return the competition of a folder; None if there is none that is valid."""
    try:
        return None if folder is None else load_competition(folder)
    except ComindError:
        return None


def _direction(competition: Competition) -> bool | None:
    """Return whether a higher score of a competition is better; None if that is not known."""
    try:
        return find_metric(competition).maximize
    except ComindError:
        return None


def listing_text(listed: dict[str, Any]) -> str:
    """Return a listing as lines of text."""
    until = f" as of {listed['as_of']}" if listed["as_of"] else ""
    lines = ["", f"what a campaign would read{until}, best first:"]
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
    if listed["further"]:
        items = quantity(listed["further"], "item")
        lines.append(f"further         {items} of lower rank, which rounds of comind sample from")
    lines += [f"not used        {note}" for note in listed["left_out"]]
    return "\n".join(lines) + "\n"


def _day(time: str | None) -> str:
    return time[:10] if time else "no time"
