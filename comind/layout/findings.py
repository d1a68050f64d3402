"""Define what was inferred about a download, as lines for people."""

from comind.domain.value import Value

__all__ = ["Finding"]


class Finding(Value):
    """One inferred fact: a short topic, such as `train`, and what was found, with its evidence."""

    topic: str
    text: str
    certain: bool = True
    """Whether the user need not decide."""

    def line(self) -> str:
        """Return the fact as one line of the report."""
        mark = "" if self.certain else "NOT CERTAIN: "
        return f"  {self.topic:<10} {mark}{self.text}"
