"""Simulated benches for tests."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from comind.bench.results import BenchResults, Conditions, RunResult, ScorePoint
from comind.domain.code_metrics import RatedProgram

CATEGORIES = ("tabular", "image", "text")
COMPLEXITIES = ("low", "medium", "high")


def run(arm: str, competition: str, seed: int, **changes: Any) -> RunResult:
    """Return a run; invalid if `valid` is false, otherwise with a score of its win rate."""
    fields: dict[str, Any] = {"status": "ended", "valid": True, "maximize": True, "win_rate": 0.5}
    fields |= changes
    if fields["valid"] and "score" not in fields:
        fields["score"] = fields["win_rate"]
    return RunResult(arm=arm, competition=competition, seed=seed, **fields)


def bench(
    runs: Sequence[RunResult],
    arms: Sequence[str] = ("ours", "base"),
    leaderboards: dict[str, tuple[float, ...]] | None = None,
    **conditions: Any,
) -> BenchResults:
    """Return the bench of these runs; the last arm is the reference."""
    return BenchResults(
        name="test",
        arms=tuple(arms),
        competitions=tuple(sorted({each.competition for each in runs})) or ("c0",),
        seeds=tuple(sorted({each.seed for each in runs})) or (0,),
        runs=tuple(runs),
        leaderboards=leaderboards or {},
        conditions=Conditions(reference=arms[-1], **conditions),
    )


def from_rates(rates: dict[str, np.ndarray], **conditions: Any) -> BenchResults:
    """Return a bench of valid runs from win rates of each arm, shape (competitions, seeds)."""
    runs = [
        run(arm, f"c{number}", seed, win_rate=float(rate))
        for arm, table in rates.items()
        for number, row in enumerate(table)
        for seed, rate in enumerate(row)
    ]
    return bench(runs, tuple(rates), **conditions)


def simulated_rates(
    seed: int, *, competitions: int = 15, seeds: int = 3, gain: float = 0.0, varies: float = 0.05
) -> dict[str, np.ndarray]:
    """Return win rates of two arms that differ by `gain` on average.

    Competitions differ in difficulty, the gain varies between them, and runs have noise of their own.
    """
    generator = np.random.default_rng(seed)
    shape = (competitions, seeds)
    level = generator.uniform(0.3, 0.7, (competitions, 1))
    gains = gain + varies * generator.standard_normal((competitions, 1))
    noise = [0.08 * generator.standard_normal(shape) for _ in range(2)]
    rates = {"ours": level + gains + noise[0], "base": level + noise[1]}
    return {arm: np.clip(values, 0, 1) for arm, values in rates.items()}


def whole_bench(change: Callable[[RunResult], RunResult | None] = lambda each: each) -> BenchResults:
    """Return three arms on eight competitions and three seeds, with everything that a report shows."""
    generator = np.random.default_rng(5)
    gains = {"graph search": 0.14, "best of many": 0.06, "one attempt": 0.0}
    runs = []
    for competition in range(8):
        level, error = generator.uniform(0.2, 0.6), generator.uniform(0.1, 0.9)
        for arm, gain in gains.items():
            for seed in range(3):
                made = change(_whole_run(generator, arm, gain, competition, seed, level, error))
                runs.append(made)
    boards = {
        f"competition-{number}": tuple(map(float, np.linspace(1 - number % 2, number % 2, 101)))
        for number in range(7)
    }
    return bench(
        [each for each in runs if each is not None],
        tuple(gains),
        boards,
        knowledge=dict.fromkeys(gains, "nothing") | {"graph search": "community until 2024-05-01"},
        hardware="1 GPU, 8 cores",
        model="model-a",
        budget="2 h, $ 5",
        seeds="splits and sampling of the model",
        known_leaks={"competition-1": ("leak: answers are on the forum",)},
    )


def _whole_run(
    generator: np.random.Generator,
    arm: str,
    gain: float,
    number: int,
    seed: int,
    level: float,
    error: float,
) -> RunResult:
    has_board, maximize = number != 7, number % 2 == 0
    quality = float(np.clip(level + gain + 0.06 * generator.standard_normal(), 0, 1))
    score = quality if maximize else error * (1.2 - quality)
    points, ending = 6, 6000 + 1200 * generator.random()
    curve = tuple(
        ScorePoint(
            seconds=ending * (i + 0.5) / points,
            usd=4.5 * (1 + gain) * (i + 0.5) / points,
            tokens=int(80_000 * (1 + gain) * (i + 1)),
            validation_score=score,
            win_rate=quality * (1 - 0.6 ** (i + 1)) if has_board else None,
            code_lines=int(60 + 200 * gain + 25 * i + 9 * generator.random()),
            complexity=2 + gain * 5 + 0.4 * i + 0.3 * generator.random(),
        )
        for i in range(points)
    )
    return RunResult(
        arm=arm,
        competition=f"competition-{number}",
        category=CATEGORIES[number % 3],
        complexity=COMPLEXITIES[number % 3],
        seed=seed,
        campaign=f"{arm}-{number}-{seed}".replace(" ", "-"),
        status="ended",
        valid=True,
        score=score,
        maximize=maximize,
        win_rate=quality if has_board else None,
        medal=None if not has_board or quality < 0.6 else "gold" if quality > 0.7 else "silver",
        above_median=quality > 0.5 if has_board else None,
        validation_score=score
        * (1 + 0.03 * generator.standard_normal() + (0.01 if maximize else -0.01)),
        seconds=ending,
        usd=4.5 * (1 + gain),
        prompt_tokens=int(400_000 * (1 + 3 * gain + 0.2 * generator.random())),
        completion_tokens=int(90_000 * (1 + 3 * gain + 0.2 * generator.random())),
        cached_tokens=int(250_000 * (1 + gain) + 9_000 * number),
        platform_score=score if number % 4 else None,
        platform_win_rate=min(1.0, quality + 0.02) if has_board else None,
        program=RatedProgram(
            code_length=int(5_000 * (1 + gain)) + 100 * number,
            source_lines=90 + 3 * number + seed,
            comment_lines=None if number == 2 else 7 + seed,
            halstead_volume=800.0 + 10 * number,
        ),
        attempts=12,
        valid_attempts=9,
        leaderboard_teams=1200 if has_board else None,
        curve=curve,
    )
