"""Find the deadline of a competition that is over, after which campaigns read nothing by default."""

from datetime import UTC, datetime

from comind.domain.competition import Competition
from comind.grading.benchmarks import known_competition


def deadline_passed(name: str, described: Competition | None) -> datetime | None:
    """Return the deadline of a competition that is over; None while it is open, or if it is not known.

    It is that of competition.yaml, where Kaggle's is written too, else what a benchmark states.
    """
    for source in (described, known_competition(name)):
        if source is not None and (deadline := source.ends_at) is not None:
            return deadline if deadline <= datetime.now(UTC) else None
    return None
