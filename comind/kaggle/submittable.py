"""Check that a competition accepts a submission before it is sent, as a rejected one may count."""

from datetime import datetime

from comind.errors import KaggleRefusedError
from comind.kaggle.client_errors import rules_error
from comind.kaggle.port import CompetitionFacts, Limits


def check_submittable(
    facts: CompetitionFacts, limits: Limits, now: datetime, *, late: bool = False
) -> None:
    """Check that a competition accepts a file now; with `late`, also after the deadline.

    Raises:
        KaggleRefusedError: it does not; the hint says what can be done.
    """
    slug = facts.slug
    closed = why_closed(facts)
    if closed is not None:
        raise closed
    if facts.deadline is not None and facts.is_over(now) and not late:
        raise KaggleRefusedError(
            f"{slug}: it closed on {facts.deadline:%Y-%m-%d %H:%M} UTC",
            hint="a submission now would be late and not ranked",
        )
    if limits.allowed_now <= 0:
        when = "the competition allows no more" if limits.limited_by_total else "wait until 00:00 UTC"
        raise KaggleRefusedError(
            f"{slug}: no submission is left ({limits.today} today, {limits.total} in all)", hint=when
        )


def why_closed(facts: CompetitionFacts) -> KaggleRefusedError | None:
    """Return the error if a competition never accepts a file from this account, else None."""
    if facts.code_only:
        return KaggleRefusedError(
            f"{facts.slug}: Kaggle accepts only notebooks that run there, no files",
            hint=f"put the script into a notebook at {facts.url}/code and submit it from there",
        )
    if facts.submissions_closed:
        return KaggleRefusedError(
            f"{facts.slug}: Kaggle accepts no submissions", hint=f"see {facts.url}"
        )
    return None if facts.entered else rules_error(facts.slug, facts.rules_url)
