"""Store snapshots of the public leaderboard: the newest as `public.csv`, all by their time."""

import csv
import io
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from comind.kaggle.port import LeaderboardRow, parse_score
from comind.system.files import write_atomically


def save_leaderboard(folder: Path, rows: Sequence[LeaderboardRow], seen: datetime) -> bool:
    """Save a leaderboard, best first, if it differs from the last one; return whether it does.

    Teams whose score is not a number are left out.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["rank", "score", "team", "time"])
    kept = [row for row in rows if parse_score(row.score) is not None]
    for rank, row in enumerate(kept, start=1):
        writer.writerow([rank, row.score, row.team, row.submitted.isoformat() if row.submitted else ""])
    newest = folder / "public.csv"
    if not kept or (newest.is_file() and newest.read_text(encoding="utf-8") == text.getvalue()):
        return False
    write_atomically(folder / "snapshots" / f"{seen:%Y%m%dT%H%M%SZ}.csv", text.getvalue())
    write_atomically(newest, text.getvalue())
    return True


def read_leaderboard(folder: Path) -> tuple[LeaderboardRow, ...]:
    """Return the newest leaderboard in `folder`, best first; empty where there is none."""
    newest = folder / "public.csv"
    if not newest.is_file():
        return ()
    with newest.open(encoding="utf-8", newline="") as file:
        return tuple(
            LeaderboardRow(
                team=row["team"],
                score=row["score"],
                submitted=datetime.fromisoformat(row["time"]) if row["time"] else None,
            )
            for row in csv.DictReader(file)
        )
