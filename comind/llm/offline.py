"""The model that needs no endpoint: it answers with the programs of `comind.baseline`.

It is a floor and a smoke test: real code, real scores, nothing invented. What it understands, by the
name of the reply asked for:

    CodingStep    facts `problem`, `seed`, `steps`, `scored`: the next of the problem's programs, until
                  one has scored; then "done"
    Analysis      it reads nothing: ratings of zero, said as such
    Brainstorm    it has no ideas of its own: an empty list
    Drafts        nor drafts
    AttemptReport that the recipe has run
"""

import json
from typing import Any

from comind.baseline import programs
from comind.domain.problem import Problem
from comind.errors import ModelServiceError
from comind.llm.base import ModelReply, ModelRequest, Usage

__all__ = ["OfflineModel"]

_NOT_READ = {
    "summary": "The offline model reads nothing.",
    "novelty": 0,
    "feasibility": 0,
    "effectiveness": 0,
    "efficiency": 0,
    "confidence": 0,
}
_NOT_SAID = {"description": "", "preview": ""}  # facts leave them out, and no program needs them


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
    told = {name: value for name, value in facts["problem"].items() if name != "folder"}
    in_turn = programs(Problem.model_validate(told | _NOT_SAID), facts["seed"])
    if facts["scored"] or facts["steps"] >= len(in_turn):
        return {"goal": "The recipe has run.", "code": ""}
    program = in_turn[facts["steps"]]
    return {"goal": f"Run the recipe for {program.name}.", "code": program.code}
