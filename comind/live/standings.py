"""The leaderboards of a competition as they stood at a moment.

Read from the competition's folder:

    leaderboard/history.csv            TeamId,TeamName,SubmissionDate,Score: a row a submission
    leaderboard/{public,private}.csv   final scores: rank,score, and where known team, team_id, date

With a history, the public leaderboard of any moment is the best score of each team so far. Without one,
a final score is known to have been there from its own date on; one without a date says nothing about
any moment before the end.
"""

import math
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from comind.community.lines import parse_time
from comind.domain.value import Value
from comind.errors import CompetitionError
from comind.evaluation.csv_tables import read_table

__all__ = ["Board", "Entry", "Standings", "utc_time"]

_NAMES = {
    "teamid": "team_id",
    "team_id": "team_id",
    "teamname": "team",
    "team": "team",
    "submissiondate": "date",
    "lastsubmissiondate": "date",
    "date": "date",
    "score": "score",
}


class Entry(Value):
    """A team on a leaderboard, with the score as it was written there."""

    team_id: int
    team: str
    score: float
    written: str
    at: datetime | None = None
    """When the score was reached; None where nobody knows."""


class Board(Value):
    """A leaderboard, best first; `message` says why it has no entries, or only some."""

    kind: Literal["public", "private"]
    entries: tuple[Entry, ...] = ()
    message: str = ""

    def with_teams(self, entries: Iterable[Entry], *, maximize: bool) -> "Board":
        """Return the board with the best of more teams; of equal scores the earlier stands first."""
        every = [*self.entries, *_best(entries, maximize=maximize)]
        return self.model_copy(update={"entries": _ordered(every, maximize=maximize)})


class Standings:
    """What a competition's folder knows of its leaderboards."""

    def __init__(self, folder: Path, *, maximize: bool) -> None:
        """Read the files that are there, below `leaderboard/`; those that are not make empty boards.

        Raises:
            CompetitionError: a file has no scores, or one that is no number.
        """
        self._maximize = maximize
        self._last: tuple[datetime | None, Board] | None = None
        where = folder / "leaderboard"
        self._history = _read(where / "history.csv")
        self._public = _read(where / "public.csv")
        self._private = _read(where / "private.csv")
        undated = [entry for entry in self._history or () if entry.at is None]
        if undated:
            raise CompetitionError(
                f"{where / 'history.csv'}: a submission of {undated[0].team!r} has no time",
                hint="write it in the column SubmissionDate, in UTC",
            )

    def public(self, moment: datetime | None, *, over: bool) -> Board:
        """Return the public leaderboard.

        Args:
            moment: as it stood then, or None for all that is known.
            over: whether the competition had ended by then.
        """
        if self._history is not None:
            return self._replayed(self._history, moment)
        if self._public is None:
            return Board(kind="public", message="no public leaderboard is known")
        if over or moment is None:
            return self._board(self._public)
        dated = [entry for entry in self._public if _by(entry, moment)]
        message = (
            "" if dated else "the leaderboard has no times, so nothing of it is known before the end"
        )
        return self._board(dated, message)

    def _replayed(self, history: tuple[Entry, ...], moment: datetime | None) -> Board:
        """Return the board of a moment; one that is asked for twice in a row is made once."""
        last = self._last
        if last is None or last[0] != moment:
            known = (entry for entry in history if moment is None or _by(entry, moment))
            last = self._last = (moment, self._board(known))
        return last[1]

    def private(self) -> Board | None:
        """Return the private leaderboard, for whoever has seen the end; None where there is none."""
        if self._private is None:
            return None
        return Board(kind="private", entries=_ordered(self._private, maximize=self._maximize))

    def _board(self, entries: Iterable[Entry], message: str = "") -> Board:
        best = _best(entries, maximize=self._maximize)
        return Board(kind="public", entries=best, message=message)


def utc_time(text: str) -> datetime:
    """Return an ISO 8601 time; one without a zone is in UTC. ValueError where it is none."""
    time = datetime.fromisoformat(text.strip())
    return parse_time((time if time.tzinfo else time.replace(tzinfo=UTC)).isoformat())


def _by(entry: Entry, moment: datetime) -> bool:
    return entry.at is not None and entry.at <= moment


def _best(entries: Iterable[Entry], *, maximize: bool) -> tuple[Entry, ...]:
    """Return the best entry of each team, best first."""
    best: dict[int, Entry] = {}
    for entry in _ordered(entries, maximize=maximize):
        best.setdefault(entry.team_id, entry)
    return tuple(best.values())


def _ordered(entries: Iterable[Entry], *, maximize: bool) -> tuple[Entry, ...]:
    sign = -1.0 if maximize else 1.0
    never = datetime.max.replace(tzinfo=UTC)
    return tuple(sorted(entries, key=lambda each: (sign * each.score, each.at or never, each.team_id)))


def _read(path: Path) -> tuple[Entry, ...] | None:
    """Return the rows of a leaderboard's file; None where it is not there."""
    if not path.is_file():
        return None
    table = read_table(path, CompetitionError)
    table = table.rename(columns={name: _NAMES.get(name.lower(), name) for name in table.columns})
    if "score" not in table.columns:
        raise CompetitionError(f"{path}: has no column 'score'")
    entries = []
    for place, row in enumerate(table.to_dict("records"), start=1):
        written = str(row["score"]).strip()
        if not written:
            continue
        try:
            if not math.isfinite(float(written)):
                raise ValueError(f"the score {written!r} is not a finite number")  # noqa: TRY301
            entries.append(
                Entry(
                    team_id=int(row.get("team_id") or place),
                    team=str(row.get("team") or f"Team {place}"),
                    score=float(written),
                    written=written,
                    at=utc_time(row["date"]) if row.get("date") else None,
                )
            )
        except ValueError as error:
            raise CompetitionError(f"{path}: row {place}: {error}") from None
    return tuple(entries)
