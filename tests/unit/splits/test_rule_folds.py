"""A rule's folds as a cross-validator of scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score

from comind.domain.competition import SplitRule
from comind.splits.rule import FOLDS, Rule

_ROWS = 240
_RNG = np.random.default_rng(0)
_TABLE = pd.DataFrame(
    {
        "class": _RNG.choice(["a", "b"], _ROWS),
        "user": [f"u{number}" for number in _RNG.integers(0, 30, _ROWS)],
        "item": [f"i{number}" for number in _RNG.integers(0, 30, _ROWS)],
        "day": _RNG.permutation(_ROWS).astype(str),
    }
)
_RULES = {
    "random": SplitRule(kind="random"),
    "stratified": SplitRule(kind="stratified", column="class"),
    "group": SplitRule(kind="group", column="user"),
    "several groupings": SplitRule(
        kind="group", column="user", also=(SplitRule(kind="group", column="item"),)
    ),
    "time": SplitRule(kind="time", column="day"),
    "time of each user": SplitRule(kind="time", column="day", within="user"),
}


@pytest.mark.parametrize("name", _RULES)
def test_it_has_the_shared_folds_and_no_leak(name: str) -> None:
    """Validation rows are those of a shared fold; training rows share no group and are not later."""
    rule = Rule.of(_RULES[name])
    numbers = rule.fold_numbers(_TABLE, 3)
    folds = rule.as_cv(_TABLE, 3)
    in_time = rule.stored.kind == "time"
    pairs = list(folds.split(_TABLE))
    assert folds.get_n_splits() == len(pairs) == FOLDS - in_time
    for fold, (kept, held_out) in enumerate(pairs, start=int(in_time)):
        assert held_out.tolist() == np.flatnonzero(numbers == fold).tolist()
        assert len(kept)
        assert not set(kept) & set(held_out)
        if rule.stored.kind == "group":
            for column in rule.stored.used_columns:
                assert not set(_TABLE[column].iloc[kept]) & set(_TABLE[column].iloc[held_out])
        if in_time:
            within = _TABLE["user"] if rule.stored.within else pd.Series(0, _TABLE.index)
            day = _TABLE["day"].astype(int)
            last = day.iloc[kept].groupby(within.iloc[kept]).max()
            first = day.iloc[held_out].groupby(within.iloc[held_out]).min()
            both = last.index.intersection(first.index)
            assert (last[both] < first[both]).all()


def test_scikit_learn_takes_it() -> None:
    """`cross_val_score` gives one score for each fold."""
    numbers = _RNG.normal(size=(_ROWS, 2))
    folds = Rule.of(_RULES["group"]).as_cv(_TABLE)
    scores = cross_val_score(LinearRegression(), numbers, numbers.sum(axis=1), cv=folds)
    assert scores == pytest.approx(np.ones(FOLDS))
