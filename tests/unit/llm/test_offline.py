"""The offline model answers with real code, and says what it cannot do."""

import json
from typing import Any

import pytest

from comind.domain.problem import DataShape
from comind.errors import ModelServiceError
from comind.llm.base import ModelRequest
from comind.llm.offline import OfflineModel


def _ask(reply: str, **facts: Any) -> dict[str, Any]:
    request = ModelRequest(role="x", messages=(), reply_name=reply, reply_schema={}, facts=facts)
    return json.loads(OfflineModel().complete(request).text)


def _step(shape: DataShape, *, steps: int, scored: bool) -> dict[str, Any]:
    problem = {
        "folder": "input/demo",
        "competition": "demo",
        "title": "A demo",
        "maximize": False,
        "train_rows": 2,
        "validation_rows": 1,
        "test_rows": 1,
        "shape": shape.value,
        "id_columns": ["id"],
        "train_id_columns": ["id"],
        "label_columns": ["y"],
        "target_columns": ["y"],
        "answer_kind": "number",
        "metric": "rmse",
    }
    return _ask("CodingStep", problem=problem, seed=3, steps=steps, scored=scored)


def test_a_step_is_a_program_of_the_baseline() -> None:
    """Asked for a step, it gives the problem's best program, and nothing more once it has scored."""
    step = _step(DataShape.TEXT, steps=0, scored=False)
    assert step["goal"] == "Run the recipe for text."
    assert "folder='input/demo',\n    id_columns=['id'],\n" in step["code"]
    assert _step(DataShape.TEXT, steps=1, scored=True)["code"] == ""


def test_where_a_recipe_fails_something_is_handed_in() -> None:
    """After a failure it tries the recipe for tables, then what needs no learning, each once."""
    goals = [_step(DataShape.AUDIO, steps=steps, scored=False)["goal"] for steps in range(4)]
    assert [goal.removeprefix("Run the recipe for ") for goal in goals[:3]] == [
        "audio.",
        "table.",
        "constant.",
    ]
    assert _step(DataShape.AUDIO, steps=3, scored=False)["code"] == ""


def test_it_has_no_ideas() -> None:
    """Asked for drafts, it proposes none; asked for anything else, it says what would help."""
    assert _ask("Drafts") == {"drafts": []}
    with pytest.raises(ModelServiceError, match="cannot answer as SplitScript"):
        _ask("SplitScript")
