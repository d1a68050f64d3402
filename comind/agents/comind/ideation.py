"""Turn what is known into distinct drafts."""

from pydantic import BaseModel, Field, JsonValue, TypeAdapter

from comind.campaign.outcome import Finding
from comind.campaign.plan import Think
from comind.campaign.state import CampaignState
from comind.campaign.workbench import Desk
from comind.domain.draft import Draft
from comind.domain.problem import Problem
from comind.llm.base import Message
from comind.llm.exchange import Prompt
from comind.llm.templates import Templates

__all__ = ["IDEATE", "drafts_of", "ideate", "topic"]

IDEATE = "ideate"

_TEMPLATES = Templates("comind.agents.comind")
_DRAFTS = TypeAdapter(list[Draft])
_CODE_SHOWN = 6_000
_ATTEMPTS_SHOWN = 10


class DraftIdea(BaseModel):
    """One draft, as a model proposes it."""

    title: str = Field(min_length=1, max_length=120)
    method: str = Field(min_length=1)
    start_from_best: bool


class Drafts(BaseModel):
    """What a round of ideation answers; empty when there is nothing to propose."""

    drafts: list[DraftIdea]


def topic(state: CampaignState, known: int) -> dict[str, JsonValue]:
    """Return what a round of ideation thinks about: what was tried, and the best code."""
    tried: list[JsonValue] = []
    best_code = ""
    for record in state.works.attempts():
        outcome = record.outcome
        if outcome is None:
            continue
        failed = outcome.failure.message if outcome.failure else ""
        tried.append({"title": record.work.draft.title, "result": str(outcome.score or failed)})
        if state.best and state.best.work_id == record.id:
            best_code = outcome.code[:_CODE_SHOWN]
    return {
        "drafts": state.spec.coders,
        "known": known,
        "tried": tried[-_ATTEMPTS_SHOWN:],
        "best_code": best_code,
        "best_score": str(state.best.score) if state.best else "",
    }


def ideate(problem: Problem, work: Think, desk: Desk) -> Finding:
    """Ask for distinct drafts; those with a title that was tried before are left out."""
    prompt = Prompt(
        role=IDEATE,
        messages=(
            Message(role="system", content=_TEMPLATES.render("ideation_system")),
            Message(
                role="user",
                content=_TEMPLATES.render("ideation", problem=problem, **work.facts),
            ),
        ),
        facts=work.facts,
        max_tokens=1_500,
    )
    answer = desk.ask(prompt, Drafts).value
    drafts: list[JsonValue] = []
    best_code = str(work.facts["best_code"])
    extends = any(idea.start_from_best for idea in answer.drafts)
    for number, idea in enumerate(answer.drafts[: int(str(work.facts["drafts"]))]):
        title = " ".join(idea.title.split())
        # One draft always extends the best solution; a model that forgets it gets it as its first.
        codebase = best_code if idea.start_from_best or (number == 0 and not extends) else ""
        draft = Draft(title=title, method=idea.method, codebase=codebase)
        drafts.append(draft.model_dump(mode="json"))
    return Finding(result={"drafts": drafts})


def drafts_of(state: CampaignState, *, only: str | None = None) -> list[Draft]:
    """Return all drafts that ideation has proposed, in order; of one round with `only`."""
    drafts: list[Draft] = []
    for record in state.works.thoughts(IDEATE):
        if record.outcome is not None and only in (None, record.id):
            drafts += _DRAFTS.validate_python(record.outcome.result.get("drafts", []))
    return drafts
