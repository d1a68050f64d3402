"""Define ideas, and ideas and reports in the short form that prompts show."""

from pydantic import Field

from comind.domain.value import Value

_IDEA_KEPT = 1_500  # characters in facts; prompts may truncate further


class IdeaRatings(Value):
    """Ratings of an idea from filtering, 0 to 10."""

    value: int = Field(default=0, ge=0, le=10)
    """Computed from the three others; 0 for what was not rated."""
    feasibility: int | None = Field(default=None, ge=0, le=10)
    """In the time of an attempt. This and the next two are None without filtering and in older logs."""
    potential: int | None = Field(default=None, ge=0, le=10)
    """Expected gain."""
    agreement: int | None = Field(default=None, ge=0, le=10)
    """With the reports."""

    @property
    def rated(self) -> str:
        """The ratings in words."""
        if self.feasibility is None:
            return f"value {self.value}" if self.value else "not rated"
        parts = f"potential {self.potential}, feasibility {self.feasibility}, agreement {self.agreement}"
        return f"value {self.value}: {parts}"


class Idea(IdeaRatings):
    """The smallest unit that can be tried."""

    id: str
    text: str
    sources: tuple[str, ...] = ()
    """Items of the reports and ids of earlier ideas that the model named as its origin."""


class IdeaMemo(IdeaRatings):
    """An idea in short; `used` are the results of the attempts that used it."""

    id: str
    text: str
    used: str = ""

    @classmethod
    def of(cls, idea: Idea, used: str = "") -> "IdeaMemo":
        """Return an idea in short."""
        ratings = {name: getattr(idea, name) for name in IdeaRatings.model_fields}
        return cls(id=idea.id, text=idea.text[:_IDEA_KEPT], used=used[:_IDEA_KEPT], **ratings)


class ComponentMemo(Value):
    """One part of a reported solution, in short."""

    name: str
    novelty: int
    confidence: int | None = None


class ReportMemo(Value):
    """The part of a report that prompts show; older logs lack the ratings with a default."""

    item: str
    item_type: str = Field(default="", alias="kind")
    title: str
    summary: str
    novelty: int | None = None
    feasibility: int | None = None
    effectiveness: int
    efficiency: int | None = None
    confidence: int
    reasons: str = ""
    weaknesses: tuple[str, ...] = ()
    components: tuple[ComponentMemo, ...] = ()
    """The best ones."""
    ideas: tuple[str, ...]
    code: str = ""
    claim: str = ""
    reproduced: str = ""

    @property
    def ratings(self) -> str:
        """The ratings in words."""
        names = ("novelty", "feasibility", "effectiveness", "efficiency", "confidence")
        values = ((name, getattr(self, name)) for name in names)
        return ", ".join(f"{name} {value}" for name, value in values if value is not None)
