"""Choose between solutions by scores on shared rows: expected score, elimination, confidence.

Pure functions; running attempts on folds and comparing files does not belong here.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from comind.domain.metric import Paired

_TIE = 0.25  # standard errors of a difference on folds, within which other evidence decides
_ERRORS = 1.0  # standard errors behind the best, beyond which a finalist is out (0013-pick-rules.md)
_DRAWS = 20_000
_SEED = 20261122  # fixed: the same scores always give the same confidence


@dataclass(frozen=True, slots=True)
class Contender:
    """Scores of one solution; more is better."""

    work_id: str
    holdout: float
    """On the first validation rows, on which it was selected."""
    folds: tuple[float, ...] = ()
    """On further folds; on the first of them only if it was eliminated."""
    gain: float | None = None
    """Expected of a blend over its best candidate, by rows that it was not selected on."""
    out_of_fold: float | None = None
    """Of its out-of-fold predictions."""
    nominated: bool = False
    code_lines: int = 0
    seconds: float = 0.0
    dropped: bool = False
    """Whether it was eliminated and `choose` imputed its missing folds."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The pick and its confidence."""

    expected: Mapping[str, float]
    """Expected score on other rows by work id, best first."""
    pick: str
    tied: tuple[str, ...]
    """Those within noise of the best expected score, itself included."""
    confidence: float
    """Probability that none of the others is better than the pick."""
    shrinkage: float | None
    """Drop of the pick's score from the first validation rows to folds; for a pick without folds the
    mean over those with folds; None without any."""


def choose(
    contenders: Sequence[Contender], rows: Sequence[int], error: Callable[[str, str], float]
) -> Choice:
    """Return the contender with the best expected score on other rows, and the confidence in it.

    `rows` holds the number of the first validation rows, then of each fold; `error(one, other)` is the
    standard error of the difference of two means, from paired resampling.

    The expected score is the mean over all rows, after subtracting the optimism of selection from the
    score on the first ones: the mean loss from there to the folds. All lose the same, so the first rows
    still discriminate; in simulation, the mean by rows loses least (`docs/design/0013-pick-rules.md`).
    Eliminated contenders get imputed folds and are never picked. With folds, among those within a
    quarter of a standard error of the best, the best out-of-fold score decides if all have one, then
    nomination, then fewest lines of code. Without folds the best score is picked.
    """
    contenders = _completed(contenders, rows)
    optimism = _optimism(contenders)
    found = {each.work_id: _expected(each, rows, optimism or 0.0) for each in contenders}
    ran = [each for each in contenders if each.folds and not each.dropped]
    judged = ran or [each for each in contenders if each.gain is None]
    best = max((found[each.work_id] for each in judged), default=0.0)
    found |= {each.work_id: min(best, found[each.work_id]) for each in contenders if each.dropped}
    found |= {each.work_id: best + each.gain for each in contenders if each.gain is not None}
    order = sorted(contenders, key=lambda each: (-found[each.work_id], each.dropped, *_simplicity(each)))
    leader = order[0]
    errors = {each.work_id: error(leader.work_id, each.work_id) for each in order[1:]}
    behind = {each.work_id: found[leader.work_id] - found[each.work_id] for each in order}
    near = [each for each in order[1:] if leader.folds and each in ran]
    tied = [leader, *(each for each in near if behind[each.work_id] <= _TIE * errors[each.work_id])]
    pick = _by_other_evidence(tied)
    own = pick.holdout - _mean(pick.folds, rows[1:]) if pick.folds else optimism
    return Choice(
        expected={each.work_id: found[each.work_id] for each in order},
        pick=pick.work_id,
        tied=tuple(each.work_id for each in tied),
        confidence=_confidence(pick.work_id, behind, errors),
        shrinkage=own,
    )


@dataclass(frozen=True, slots=True)
class Finalist:
    """Scores and validation submissions of one attempt on the split and on each fold so far."""

    work_id: str
    scores: tuple[float, ...]
    """More is better."""
    files: tuple[Path, ...]


def eliminate(
    finalists: Sequence[Finalist], rows: Sequence[int], compare: Callable[[Path, Path, int], Paired]
) -> dict[str, str]:
    """Return the finalists more than one standard error behind the best, each with a line that says so.

    The best has the best mean over all rows, weighted by `rows`, the number of rows of each part; ties
    go to the first. `compare(one, other, fold)` is the paired difference of two submissions.
    """
    best = max(finalists, key=lambda each: float(np.average(each.scores, weights=rows)))
    found = {}
    for finalist in finalists:
        if finalist is best:
            continue
        files = enumerate(zip(best.files, finalist.files, strict=True))
        pairs = [compare(one, other, number) for number, (one, other) in files]
        behind = float(np.average([each.difference for each in pairs], weights=rows))
        error = pooled_error([each.standard_error for each in pairs], rows)
        if behind > _ERRORS * error:
            found[finalist.work_id] = (
                f"{finalist.work_id} is {behind:.3g} behind {best.work_id} (standard error {error:.3g})"
            )
    return found


def pooled_error(errors: Sequence[float], rows: Sequence[int]) -> float:
    """Return the standard error of a difference of means weighted by `rows`.

    `errors` holds the independent errors on the first validation rows and on each fold.
    """
    weights = _weights(rows[: len(errors)])
    return float(np.linalg.norm(weights * np.asarray(errors)))


def _weights(rows: Sequence[int]) -> np.ndarray:
    """Return the weight of each part, the first validation rows first; shape (parts,)."""
    return np.asarray(rows, dtype=float) / sum(rows)


def _completed(contenders: Sequence[Contender], rows: Sequence[int]) -> list[Contender]:
    """Impute the folds that eliminated contenders missed.

    Imputed is the mean of those that ran there, plus their mean distance on the shared rows.
    """
    folds = max((len(each.folds) for each in contenders), default=0)
    ran = [each for each in contenders if folds and len(each.folds) == folds]
    done = []
    for each in contenders:
        shared = 1 + len(each.folds)
        if shared in (1, folds + 1):
            done.append(each)
            continue
        parts = np.mean([[other.holdout, *other.folds] for other in ran], axis=0)
        ahead = _mean([each.holdout, *each.folds], rows[:shared]) - _mean(parts[:shared], rows[:shared])
        missed = (float(part + ahead) for part in parts[shared:])
        done.append(replace(each, folds=(*each.folds, *missed), dropped=True))
    return done


def _expected(contender: Contender, rows: Sequence[int], optimism: float) -> float:
    parts = np.asarray([contender.holdout - optimism, *contender.folds])
    return float(_weights(rows[: len(parts)]) @ parts)


def _optimism(contenders: Sequence[Contender]) -> float | None:
    """Return the mean drop in score from the first rows to folds; None without folds."""
    found = [each.holdout - math.fsum(each.folds) / len(each.folds) for each in contenders if each.folds]
    return math.fsum(found) / len(found) if found else None


def _mean(values: Sequence[float], rows: Sequence[int]) -> float:
    return math.fsum(value * count for value, count in zip(values, rows, strict=True)) / sum(rows)


def _by_other_evidence(tied: Sequence[Contender]) -> Contender:
    """Break a tie by out-of-fold score, nomination and simplicity."""
    scores = [each.out_of_fold for each in tied]
    compared = None not in scores
    return min(
        tied,
        key=lambda each: (
            -(each.out_of_fold or 0.0) if compared else 0.0,
            not each.nominated,
            *_simplicity(each),
        ),
    )


def _simplicity(contender: Contender) -> tuple[int, float, str]:
    return contender.code_lines, contender.seconds, contender.work_id


def _confidence(pick: str, behind: Mapping[str, float], errors: Mapping[str, float]) -> float:
    """Return the share of normal draws in which none is better than the pick, rounded to two digits.

    Each score is drawn around its distance to the leader. Half of the smallest variance of a difference
    is attributed to the leader, the rest to the other, so that differences vary as measured.
    """
    if not errors:
        return 1.0
    own = min(errors.values()) ** 2 / 2
    spread = {name: math.sqrt(max(error**2 - own, own)) for name, error in errors.items()}
    generator = np.random.default_rng(_SEED)
    drawn = {
        name: generator.normal(-distance, spread.get(name, math.sqrt(own)), _DRAWS)
        for name, distance in behind.items()
    }
    others = [values for name, values in drawn.items() if name != pick]
    return round(float((drawn[pick] >= np.max(others, axis=0)).mean()), 2)
