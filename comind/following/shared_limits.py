"""Divide daily limits among the competitions that a project follows, by priority."""

import math
from collections.abc import Mapping
from datetime import date
from typing import Annotated

from pydantic import Field

from comind.domain.value import Value
from comind.following.day import DayPlan
from comind.following.state import Following

Priority = Annotated[float, Field(gt=0)]


class SharedLimits(Value):
    """Limits a day (UTC) of all followed competitions together; None for no limit."""

    minutes: float | None = Field(default=None, gt=0)
    """Campaign time."""
    usd: float | None = Field(default=None, ge=0)
    submissions: int | None = Field(default=None, ge=0)
    priorities: dict[str, Priority] = {}
    """By Kaggle's name of the competition; 1 if not named."""

    def plan_for(self, slug: str, plan: DayPlan, others: Mapping[str, Following]) -> DayPlan:
        """Return a day's plan within the share of a competition.

        Args:
            slug: the competition.
            plan: what it gets at most.
            others: the other competitions that are followed; those that are over get no share.
        """
        share = self._share(slug, others)
        usd = [each for each in (plan.usd, self.usd and self.usd * share) if each is not None]
        minutes = plan.minutes if self.minutes is None else min(plan.minutes, self.minutes * share)
        return plan.model_copy(update={"minutes": minutes, "usd": min(usd, default=None)})

    def submissions_for(self, slug: str, others: Mapping[str, Following], day: date) -> int | None:
        """Return how many submissions a competition may make on a day; None for no limit.

        A share is rounded up, and what the others have sent on that day is not available.
        """
        if self.submissions is None:
            return None
        sent = sum(state.submitted_on(day) for state in others.values())
        share = math.ceil(self.submissions * self._share(slug, others) - 1e-9)
        return max(0, min(share, self.submissions - sent))

    def _share(self, slug: str, others: Mapping[str, Following]) -> float:
        followed = [name for name, state in others.items() if _takes_part(state)]
        mine = self.priorities.get(slug, 1.0)
        return mine / (mine + sum(self.priorities.get(name, 1.0) for name in followed if name != slug))


def _takes_part(state: Following) -> bool:
    """Return whether a competition is followed and not over; to some a file was only submitted."""
    if state.observation is None:
        return not state.submissions
    return not state.observation.is_over
