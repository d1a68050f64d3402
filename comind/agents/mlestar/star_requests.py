"""Define MLE-STAR's parameters and roles, and send its requests."""

from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, Field

from comind.campaign.work.context import ThinkContext
from comind.domain.value import Value
from comind.knowledge.knowledge_base import BUILTIN, NO_KNOWLEDGE, pin
from comind.llm.model_ports import Message, ModelRequest
from comind.llm.templates import Templates
from comind.llm.tokens import token_shares

RETRIEVER, SEARCHER, PLANNER = "retriever", "searcher", "planner"
CODER, CHECKER = "coder", "checker"


class MleStarParameters(Value):
    """Hyperparameters: section `agents.mlestar` of params.yaml, with the paper's defaults."""

    models: int = Field(4, ge=1, description="candidate models of each solution (paper: M)")
    outer: int = Field(4, ge=0, description="refined blocks of each solution (paper: T)")
    inner: int = Field(4, ge=1, description="plans for each block (paper: K)")
    solutions: int = Field(2, ge=1, description="solutions, refined independently (paper: L)")
    ensemble_rounds: int = Field(5, ge=1, description="ensemble strategies (paper: R)")
    debug_rounds: int = Field(3, ge=0, description="corrections of a program that fails")
    search: bool = Field(True, description="false: the model names candidates from memory")
    knowledge: Annotated[str, AfterValidator(pin)] = Field(
        BUILTIN, validate_default=True, description="none, builtin, or the path of a base"
    )
    cards: Annotated[str, AfterValidator(pin)] = Field(
        NO_KNOWLEDGE, description="folder of model cards (.md), searched as well"
    )
    web_search: bool = Field(False, description="ask the role searcher, a model that searches the web")
    ablation: bool = Field(True, description="false: a block is chosen without an ablation study")
    ensemble: bool = Field(True, description="false: the best solution is the result")
    leakage_check: bool = Field(True, description="check each new program for leakage")
    usage_check: bool = Field(True, description="check once whether a solution uses all data")
    ensemble_time: float = Field(0.15, ge=0, lt=1, description="share of the time for the ensemble")


TEMPLATES = Templates("comind.agents.mlestar")
T = TypeVar("T", bound=BaseModel)

# Share of the context window and maximum in tokens of each part of a prompt; no prompt has all parts.
_SHARES = {
    "columns": (0.01, 1_000),
    "description": (0.06, 9_000),
    "preview": (0.065, 4_000),
    "material": (0.2, 16_000),
    "history": (0.06, 6_000),
    "plan": (0.055, 3_000),
    "program": (0.2, 16_000),
    "output": (0.06, 4_000),
    "reply": (0.245, 16_000),
}


def token_limits(context_tokens: int) -> dict[str, int]:
    """Return the maximum tokens of each part of a prompt for a model with this context window."""
    return token_shares(_SHARES, context_tokens)


def ask(context: ThinkContext, role: str, template: str, reply_type: type[T], /, **facts: object) -> T:
    """Render the prompt `template` and return the reply; checks are made at temperature 0.

    Raises:
        ReplyError: three replies in a row did not match the schema.
    """
    room = token_limits(context.context_tokens)
    system = Message(role="system", content=TEMPLATES.render("system"))
    user = Message(role="user", content=TEMPLATES.render(template, room=room, **facts))
    request = ModelRequest(
        role=role,
        messages=(system, user),
        max_tokens=room["reply"],
        temperature=0.0 if role == CHECKER else None,
    )
    return context.ask(request, reply_type).value
