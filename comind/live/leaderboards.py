"""Reconstruct the leaderboards of a past competition as of a moment.

Read from the competition's folder:

    leaderboard/history.csv            TeamId,TeamName,SubmissionDate,Score; one row per submission
    leaderboard/{public,private}.csv   final scores: rank,score, optionally team, team_id, date

With a history, the public leaderboard as of a moment is the best score of each team so far. Without
one, a final score counts from its own date on, and one without a date counts after the deadline only.
"""

import math
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from comind.community.lines import parse_time
from comind.domain.value import Value
from comind.errors import CompetitionError
from comind.tables.csv_tables import read_table

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


class LeaderboardEntry(Value):
    """A team on a leaderboard; `written` is the score as text."""

    team_id: int
    team: str
    score: float
    written: str
    at: datetime | None = None
    """When the score was reached; None if unknown."""
    last_at: datetime | None = None
    """When the team submitted last; None where that is not known to differ from `at`."""

    @property
    def last_submission(self) -> datetime | None:
        """When the team submitted last, as far as it is known."""
        return self.last_at or self.at


class Leaderboard(Value):
    """A leaderboard, best first; `message` gives the reason for missing entries."""

    half: Literal["public", "private"]
    entries: tuple[LeaderboardEntry, ...] = ()
    message: str = ""

    def with_teams(self, entries: Iterable[LeaderboardEntry], *, maximize: bool) -> "Leaderboard":
        """Return the board with the best entries of more teams; ties are broken by time."""
        every = [*self.entries, *_best(entries, maximize=maximize)]
        return self.model_copy(update={"entries": _ordered(every, maximize=maximize)})


class LeaderboardHistory:
    """The leaderboards in a competition's folder."""

    def __init__(self, folder: Path, *, maximize: bool) -> None:
        """Read the files below `leaderboard/`; a missing file makes an empty board.

        Raises:
            CompetitionError: a file has no score column, or a score that is no finite number.
        """
        self._maximize = maximize
        self._last: tuple[datetime | None, Leaderboard] | None = None
        where = folder / "leaderboard"
        self._history = _read(where / "history.csv")
        self._public = _read(where / "public.csv")
        self._private = _read(where / "private.csv")
        undated = [entry for entry in self._history or () if entry.at is None]
        if undated:
            raise CompetitionError(
                f"{where / 'history.csv'}: a submission of {undated[0].team!r} has no time",
                hint="add it in the column SubmissionDate, in UTC",
            )

    def public(self, moment: datetime | None, *, over: bool) -> Leaderboard:
        """Return the public leaderboard.

        Args:
            moment: as-of time, or None for everything.
            over: whether the competition had ended by then.
        """
        if self._history is not None:
            return self._as_of(self._history, moment)
        if self._public is None:
            return Leaderboard(half="public", message="no public leaderboard is known")
        if over or moment is None:
            return self._board(self._public)
        dated = [entry for entry in self._public if _reached_by(entry, moment)]
        message = (
            "" if dated else "the leaderboard has no times, so nothing of it is known before the end"
        )
        return self._board(dated, message)

    def _as_of(self, history: tuple[LeaderboardEntry, ...], moment: datetime | None) -> Leaderboard:
        """Return the board as of a moment; the last one is cached."""
        last = self._last
        if last is None or last[0] != moment:
            known = (entry for entry in history if moment is None or _reached_by(entry, moment))
            last = self._last = (moment, self._board(known))
        return last[1]

    def private(self) -> Leaderboard | None:
        """Return the final private leaderboard; None if the folder has none."""
        if self._private is None:
            return None
        return Leaderboard(half="private", entries=_ordered(self._private, maximize=self._maximize))

    def _board(self, entries: Iterable[LeaderboardEntry], message: str = "") -> Leaderboard:
        best = _best(entries, maximize=self._maximize)
        return Leaderboard(half="public", entries=best, message=message)


def _parse_utc(text: str) -> datetime:
    """Parse an ISO 8601 time, in UTC if it has no zone; `ValueError` if it is invalid."""
    time = datetime.fromisoformat(text.strip())
    return parse_time((time if time.tzinfo else time.replace(tzinfo=UTC)).isoformat())


def _reached_by(entry: LeaderboardEntry, moment: datetime) -> bool:
    return entry.at is not None and entry.at <= moment


def _best(entries: Iterable[LeaderboardEntry], *, maximize: bool) -> tuple[LeaderboardEntry, ...]:
    """Return the best entry of each team, best first, with the time of the team's last one."""
    best: dict[int, LeaderboardEntry] = {}
    last: dict[int, datetime] = {}
    for entry in _ordered(entries, maximize=maximize):
        best.setdefault(entry.team_id, entry)
        if entry.at is not None:
            last[entry.team_id] = max(entry.at, last.get(entry.team_id, entry.at))
    return tuple(each.model_copy(update={"last_at": last.get(each.team_id)}) for each in best.values())


def _ordered(entries: Iterable[LeaderboardEntry], *, maximize: bool) -> tuple[LeaderboardEntry, ...]:
    sign = -1.0 if maximize else 1.0
    never = datetime.max.replace(tzinfo=UTC)
    return tuple(sorted(entries, key=lambda each: (sign * each.score, each.at or never, each.team_id)))


def _read(path: Path) -> tuple[LeaderboardEntry, ...] | None:
    """Return the rows of a leaderboard file; None if it does not exist."""
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
                LeaderboardEntry(
                    team_id=int(row.get("team_id") or place),
                    team=str(row.get("team") or f"Team {place}"),
                    score=float(written),
                    written=written,
                    at=_parse_utc(row["date"]) if row.get("date") else None,
                )
            )
        except ValueError as error:
            raise CompetitionError(f"{path}: row {place}: {error}") from None
    return tuple(entries)
