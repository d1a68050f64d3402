"""Define MLE-STAR's parameters, roles and prompts."""

from typing import Annotated

from pydantic import AfterValidator, Field

from comind.campaign.work.prompts import Prompts
from comind.domain.value import Value
from comind.knowledge.knowledge_base import BUILTIN, NO_KNOWLEDGE, pin

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
    ensemble_time: float = Field(0.15, ge=0, le=1, description="share of the time for the ensemble")


# Share of the context window and maximum in tokens of each part of a prompt; no prompt has all parts.
PROMPTS = Prompts(
    "comind.agents.mlestar",
    {
        "columns": (0.01, 1_000),
        "description": (0.06, 9_000),
        "preview": (0.065, 4_000),
        "material": (0.2, 16_000),
        "history": (0.06, 6_000),
        "plan": (0.055, 3_000),
        "program": (0.2, 16_000),
        "output": (0.06, 4_000),
        "reply": (0.245, 16_000),
    },
)
