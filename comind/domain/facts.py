"""Define the sheet of measured facts that the platform gives to all roles of an agent."""

from comind.domain.value import Text, Value


class Fact(Value):
    """Something that was measured, in one line of the platform's words."""

    text: Text
    source: str
    """Id of the attempt whose cells measured it."""


class FactSheet(Value):
    """What attempts measured; recorded when work is planned, so that a replay sees the same."""

    baseline: tuple[Fact, ...] = ()
    """By the platform's own baseline."""
    attempts: tuple[Fact, ...] = ()
    """By the agent's attempts."""

    @property
    def facts(self) -> tuple[Fact, ...]:
        """All facts, those of the baseline first."""
        return (*self.baseline, *self.attempts)

    def of_baseline(self) -> "FactSheet":
        """Return the facts of the baseline alone, for an agent whose attempts do not see each other."""
        return FactSheet(baseline=self.baseline)
