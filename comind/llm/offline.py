"""The model that needs no endpoint: it answers from the request's facts with recipes.

It is a floor and a smoke test: real code, real scores, nothing invented. What it understands, by the
name of the reply asked for:

    CodingStep    facts `problem`, `seed`, `steps`: a recipe that hands in both submissions, then "done"
    Drafts        it has no ideas of its own: an empty list
"""

import json
from importlib import resources
from typing import Any

from comind.errors import ModelServiceError
from comind.llm.base import ModelReply, ModelRequest, Usage

__all__ = ["OfflineModel"]


class OfflineModel:
    """Answers with recipes that it has on disk; costs nothing."""

    name = "offline"

    def bound(self, request: ModelRequest) -> Usage:
        """Return that nothing is spent."""
        del request
        return Usage()

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return a reply of the form asked for.

        Raises:
            ModelServiceError: the reply asked for takes a model that can read.
        """
        match request.reply_name:
            case "CodingStep":
                reply = _coding_step(request.facts)
            case "Drafts":
                reply = {"drafts": []}
            case name:
                raise ModelServiceError(
                    f"the offline model cannot answer as {name}",
                    hint="name a model with --model, or set OPENAI_BASE_URL",
                )
        return ModelReply(text=json.dumps(reply), model=self.name)


def _coding_step(facts: dict[str, Any]) -> dict[str, Any]:
    if facts["steps"]:
        return {"goal": "The recipe has run.", "code": ""}
    recipe = (resources.files("comind.llm") / "recipes" / "tabular.py").read_text(encoding="utf-8")
    return {
        "goal": "Fit a gradient boosting on the table and predict both sets of rows.",
        "code": _constants(facts) + recipe,
    }


def _constants(facts: dict[str, Any]) -> str:
    """Return the lines that a recipe begins with; plain assignments, so that others can build on it."""
    problem = facts["problem"]
    values = {
        "FOLDER": problem["folder"],
        "IDS": problem["id_columns"],
        "TARGETS": problem["target_columns"],
        "SEED": facts["seed"],
    }
    return "".join(f"{name} = {value!r}\n" for name, value in values.items()) + "\n"
