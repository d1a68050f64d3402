"""The model that needs no endpoint: it answers from the request's facts with recipes.

It is a floor and a smoke test: real code, real scores, nothing invented. What it understands, by the
name of the reply asked for:

    CodingStep    facts `problem`, `seed`, `steps`, `scored`: the recipe for the shape of the data;
                  where it fails, the one for tables, then one that learns nothing; then "done"
    Analysis      it reads nothing: ratings of zero, said as such
    Brainstorm    it has no ideas of its own: an empty list
    Drafts        nor drafts
    AttemptReport that the recipe has run
"""

import json
from importlib import resources
from typing import Any

from comind.domain.problem import DataShape
from comind.errors import ModelServiceError
from comind.llm.base import ModelReply, ModelRequest, Usage

__all__ = ["OfflineModel"]

_RECIPES = {
    DataShape.TABLE: ("answers", "table"),
    DataShape.TEXT: ("answers", "text"),
    DataShape.TEXT_TO_TEXT: ("answers", "text_to_text"),
    DataShape.IMAGES: ("answers", "files", "images"),
    DataShape.PIXELS: ("answers", "files", "pixels"),
    DataShape.AUDIO: ("answers", "files", "audio"),
    DataShape.PANEL: ("answers", "panel"),
}
_NOT_READ = {
    "summary": "The offline model reads nothing.",
    "novelty": 0,
    "feasibility": 0,
    "effectiveness": 0,
    "efficiency": 0,
    "confidence": 0,
}
_LAST_RESORT = ("answers", "constant")


class OfflineModel:
    """Answers with recipes that it has on disk; costs nothing."""

    name = "offline"
    context_tokens = 1_000_000  # it reads none of them

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
            case "Analysis":
                reply = _NOT_READ
            case "Brainstorm":
                reply = {"paths": []}
            case "Drafts":
                reply = {"drafts": []}
            case "AttemptReport":
                reply = {"summary": "The offline model's recipe, as it stands in the code."}
            case name:
                raise ModelServiceError(
                    f"the offline model cannot answer as {name}",
                    hint="name a model with --model, or set OPENAI_BASE_URL",
                )
        return ModelReply(text=json.dumps(reply), model=self.name)


def _coding_step(facts: dict[str, Any]) -> dict[str, Any]:
    recipes = _in_turn(DataShape(facts["problem"]["shape"]))
    if facts["scored"] or facts["steps"] >= len(recipes):
        return {"goal": "The recipe has run.", "code": ""}
    recipe = recipes[facts["steps"]]
    name = recipe[-1].replace("_", " ")
    return {"goal": f"Run the recipe for {name}.", "code": _program(facts, recipe)}


def _in_turn(shape: DataShape) -> list[tuple[str, ...]]:
    """Return recipes, the best first; each of the others is for when those before it have failed."""
    return list(dict.fromkeys((_RECIPES[shape], _RECIPES[DataShape.TABLE], _LAST_RESORT)))


def _program(facts: dict[str, Any], names: tuple[str, ...]) -> str:
    """Return constants, as plain assignments that others can build on, and the recipe's files."""
    problem = facts["problem"]
    values = {
        "FOLDER": problem["folder"],
        "IDS": problem["id_columns"],
        "TRAIN_IDS": problem["train_id_columns"],
        "LABELS": problem["label_columns"],
        "TARGETS": problem["target_columns"],
        "KIND": problem["answer_kind"],
        "METRIC": problem["metric"],
        "SEED": facts["seed"],
    }
    constants = "".join(f"{name} = {value!r}\n" for name, value in values.items())
    folder = resources.files("comind.llm") / "recipes"
    return "\n".join([constants, *((folder / f"{name}.py").read_text("utf-8") for name in names)])
