"""Without a named rule, one is detected from the differences of train and test."""

import pandas as pd
import pytest

from comind.domain.competition import SplitRule
from comind.domain.problem import AnswerKind
from comind.splits.search import plain_rule

_DAYS = [f"2024-{month:02d}-{day:02d}" for month in (1, 2, 3) for day in range(1, 29)]


def _columns(**columns: list[str]) -> pd.DataFrame:
    return pd.DataFrame(columns, dtype=str)


def _train(**columns: list[str]) -> pd.DataFrame:
    rows = len(next(iter(columns.values())))
    return _columns(**columns, label=["a" if row % 3 else "b" for row in range(rows)])


_NOISE = [str(row * 7 % 50) for row in range(60)]

_CASES: dict[str, tuple[pd.DataFrame, pd.DataFrame, AnswerKind, SplitRule]] = {
    "test follows train": (
        _train(day=_DAYS[:56]),
        _columns(day=_DAYS[56:70]),
        AnswerKind.NUMBER,
        SplitRule(kind="time", column="day", horizon_days=13),
    ),
    "test precedes train": (
        _train(day=_DAYS[28:]),
        _columns(day=_DAYS[14:28]),
        AnswerKind.NUMBER,
        SplitRule(kind="time", column="day", earliest=True, horizon_days=13),
    ),
    "other speakers": (
        _train(speaker=[f"s{row % 6}" for row in range(60)]),
        _columns(speaker=["s7", "s7", "s8", "s8"]),
        AnswerKind.LABEL,
        SplitRule(kind="group", column="speaker"),
    ),
    "other days": (
        _train(when=[f"{day} {hour}:00" for day in _DAYS[0:20:2] for hour in (10, 11, 12)]),
        _columns(when=[f"{day} {hour}:00" for day in _DAYS[1:20:2] for hour in (10, 11, 12)]),
        AnswerKind.NUMBER,
        SplitRule(kind="group", column="when", by="date"),
    ),
    "classes": (
        _train(x=_NOISE),
        _columns(x=_NOISE[:10]),
        AnswerKind.LABEL,
        SplitRule(kind="stratified", column="label"),
    ),
    "classes of six rows": (
        _columns(x=_NOISE, label=[f"c{row % 10}" for row in range(60)]),
        _columns(x=_NOISE[:10]),
        AnswerKind.LABEL,
        SplitRule(kind="stratified", column="label"),
    ),
    "classes of three rows": (
        _columns(x=_NOISE, label=[f"c{row % 20}" for row in range(60)]),
        _columns(x=_NOISE[:10]),
        AnswerKind.LABEL,
        SplitRule(kind="random"),
    ),
    "numbers": (
        _train(x=_NOISE),
        _columns(x=_NOISE[:10]),
        AnswerKind.NUMBER,
        SplitRule(kind="random"),
    ),
    "ids are no groups": (
        _train(id=[f"a{row}" for row in range(60)]),
        _columns(id=["b1", "b2"]),
        AnswerKind.NUMBER,
        SplitRule(kind="random"),
    ),
    "numbers are no dates": (
        _train(x=[str(row) for row in range(60)]),
        _columns(x=[str(row) for row in range(60, 70)]),
        AnswerKind.NUMBER,
        SplitRule(kind="random"),
    ),
}


@pytest.mark.parametrize("name", _CASES)
def test_the_rule_fits_the_data(name: str) -> None:
    """Time, groups, dates and classes are detected, in this order, with the reason."""
    train, test, kind, expected = _CASES[name]
    rule, reason = plain_rule(train, test, ("label",), kind)
    assert rule == expected
    assert reason
