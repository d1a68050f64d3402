"""Define the results of a bench: one value a campaign, and the conditions that all had."""

from typing import Literal

from comind.domain.value import Value

__all__ = ["BenchResults", "Conditions", "RunResult", "ScorePoint"]


class ScorePoint(Value):
    """The submission that was best by validation score from a moment on."""

    seconds: float
    """Of the campaign's running time."""
    usd: float
    """Cost of the work that had ended."""
    validation_score: float
    win_rate: float | None = None
    """Share of the true leaderboard's teams that it beats; None without a leaderboard."""
    code_lines: int | None = None
    """Lines of its code, without comments and blank lines; None if it does not parse."""
    complexity: float | None = None
    """Mean cyclomatic complexity of its functions (CoMind paper, appendix B)."""


class RunResult(Value):
    """The graded result of one cell."""

    arm: str
    competition: str
    kind: str = "other"
    """Category of MLE-bench's catalog."""
    complexity: str = "other"
    """`low`, `medium` or `high` of MLE-bench's catalog."""
    seed: int
    campaign: str
    status: Literal["ended", "failed", "missing"]
    """`failed`: begun, not ended; `missing`: not begun."""
    reason: str = ""
    """Why it failed, or why its submission is invalid."""
    valid: bool = False
    score: float | None = None
    """On the true answers, in units of the metric."""
    metric: str = ""
    maximize: bool = True
    win_rate: float | None = None
    """Share of the leaderboard's teams that are beaten, 0 to 1; 0 where the submission is invalid, None
    without a leaderboard."""
    medal: str | None = None
    above_median: bool | None = None
    """None without thresholds."""
    validation_score: float | None = None
    seconds: float = 0.0
    usd: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    attempts: int = 0
    valid_attempts: int = 0
    leaderboard_teams: int | None = None
    curve: tuple[ScorePoint, ...] = ()
    """In order of time."""


class Conditions(Value):
    """The conditions of a bench, stated beside its results."""

    test_feedback: str = "none"
    network: str
    """Of the agents' code."""
    knowledge: dict[str, str]
    """By arm, what the agent could read of others' work."""
    hardware: str
    model: str
    budget: str
    seeds: int
    revision: str
    """Of CoMind's code."""
    known_leaks: dict[str, tuple[str, ...]] = {}
    """By competition, known leaks and errors of MLE-bench's catalog."""


class BenchResults(Value):
    """All results of a bench."""

    name: str
    arms: tuple[str, ...]
    """In the order of the plan."""
    competitions: tuple[str, ...]
    seeds: tuple[int, ...]
    reference: str
    """The arm that the others are compared with."""
    runs: tuple[RunResult, ...]
    conditions: Conditions
