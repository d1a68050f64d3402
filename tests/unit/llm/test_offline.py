"""The offline model answers with real code, and says what it cannot do."""

import json
from typing import Any

import pytest

from comind.errors import ModelServiceError
from comind.llm.base import ModelRequest
from comind.llm.offline import OfflineModel


def _ask(reply: str, **facts: Any) -> dict[str, Any]:
    request = ModelRequest(role="x", messages=(), reply_name=reply, reply_schema={}, facts=facts)
    return json.loads(OfflineModel().complete(request).text)


def test_a_step_is_a_program_that_compiles() -> None:
    """Asked for a step, it gives a recipe with the competition's names filled in, then nothing more."""
    problem = {"folder": "input/demo", "id_columns": ["id"], "target_columns": ["y"]}
    step = _ask("CodingStep", problem=problem, seed=3, steps=0)
    compile(step["code"], "cell", "exec")
    assert "FOLDER = 'input/demo'\nIDS = ['id']" in step["code"]
    assert "submission.csv" in step["code"]
    assert _ask("CodingStep", problem=problem, seed=3, steps=1)["code"] == ""


def test_it_has_no_ideas() -> None:
    """Asked for drafts, it proposes none; asked for anything else, it says what would help."""
    assert _ask("Drafts") == {"drafts": []}
    with pytest.raises(ModelServiceError, match="cannot answer as SplitScript"):
        _ask("SplitScript")
