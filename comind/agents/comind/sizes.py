"""How much fits into the prompts and replies of CoMind's roles, as shares of a model's context."""

from typing import ClassVar

from comind.domain.value import Value

__all__ = ["Sizes"]

_LARGE = 131_072  # tokens of context at which the ceilings are reached


class Sizes(Value):
    """Limits for one size of context; in tokens, unless a name ends in `_shown`: those are counts.

    Each limit is the ceiling of `_BOUNDS` times the share that the context has of 131,072 tokens, and
    never less than the floor, which is what a model of 8,192 tokens can bear.
    """

    cell_reply: int
    thought_reply: int
    description: int
    """In an attempt's opening, which is sent with every step."""
    preview: int
    method: int
    start_code: int
    output: int
    error: int
    steps: int
    """Of all steps of an attempt together, word for word."""
    outline: int
    """The description where a role thinks about many things beside it."""
    data_outline: int
    """The preview, in the same prompts."""
    item: int
    """One notebook, thread or solution to be reported on."""
    summary: int
    """Of a report, where many reports are shown."""
    abstract: int
    """Of a report's code, in the same place."""
    suggestion: int
    """One idea of a report."""
    idea: int
    """One idea of the team's."""
    solution_code: int
    """The best solution's, where drafts are written."""
    neighbour: int
    """Of another attempt's title, and of what its best step was for."""
    preparation: int
    """The cell that fresh drafts share."""
    reports_shown: int
    ideas_shown: int
    solutions_shown: int
    tried_shown: int
    parts_shown: int
    """Of a score, by target or by block of rows."""
    complements_shown: int
    """What is not in the best solution yet."""

    _BOUNDS: ClassVar[dict[str, tuple[int, int]]] = {
        "cell_reply": (2_000, 16_384),
        "thought_reply": (2_000, 8_192),
        "description": (600, 9_000),
        "preview": (800, 4_000),
        "method": (700, 4_000),
        "start_code": (1_600, 16_000),
        "output": (600, 3_000),
        "error": (500, 2_000),
        "steps": (24_000, 65_536),
        "outline": (400, 9_000),
        "data_outline": (400, 4_000),
        "item": (1_500, 25_000),
        "summary": (65, 600),
        "abstract": (0, 400),
        "suggestion": (32, 120),
        "idea": (65, 400),
        "solution_code": (1_200, 12_000),
        "neighbour": (12, 30),
        "preparation": (400, 4_000),
        "reports_shown": (10, 30),
        "ideas_shown": (20, 80),
        "solutions_shown": (3, 8),
        "tried_shown": (12, 40),
        "parts_shown": (4, 12),
        "complements_shown": (0, 5),
    }

    @classmethod
    def of(cls, context_tokens: int) -> "Sizes":
        """Return the limits for a model that reads `context_tokens`, prompt and reply together."""
        share = min(1.0, context_tokens / _LARGE)
        return cls.model_validate(
            {name: max(least, int(share * most)) for name, (least, most) in cls._BOUNDS.items()}
        )
