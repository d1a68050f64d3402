"""Whether a competition accepts a submission."""

from typing import Any

import pytest

from comind.errors import KaggleRefusedError
from comind.kaggle.port import Limits
from comind.kaggle.submittable import check_submittable
from tests.unit.kaggle.world import day, tiny_world

LEFT = Limits(today=1, total=7, allowed_now=4)


def test_an_open_competition_takes_a_file() -> None:
    """With rules accepted, and time and submissions left, there is no error."""
    facts = tiny_world().facts
    check_submittable(facts, LEFT, day(1))
    over = facts.model_copy(update={"deadline": day(2)})
    check_submittable(over, LEFT, day(3), late=True)


@pytest.mark.parametrize(
    ("facts", "limits", "said"),
    [
        ({"code_only": True}, {}, "only notebooks that run there"),
        ({"submissions_closed": True}, {}, "accepts no submissions"),
        ({"deadline": day(2)}, {}, "it closed on 2023-12-02"),
        ({"entered": False}, {}, "accepted the rules"),
        ({}, {"allowed_now": 0}, r"no submission is left \(1 today, 7 in all\)"),
        ({}, {"allowed_now": 0, "limited_by_total": True}, "no submission is left"),
    ],
)
def test_why_not(facts: dict[str, Any], limits: dict[str, Any], said: str) -> None:
    """Each error is one line with a hint."""
    changed = tiny_world().facts.model_copy(update=facts)
    with pytest.raises(KaggleRefusedError, match=said) as caught:
        check_submittable(changed, LEFT.model_copy(update=limits), day(3))
    assert caught.value.hint
