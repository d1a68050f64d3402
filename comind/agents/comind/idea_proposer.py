"""The Idea Proposer: brainstorm, then filter and rebuild; memory only grows (paper, section 4.2)."""

from pydantic import BaseModel, Field, JsonValue

from comind.agents.comind.pool import PROPOSE, Idea, Pool
from comind.campaign.outcome import Finding
from comind.campaign.plan import Think
from comind.campaign.state import CampaignState
from comind.campaign.workbench import Desk
from comind.domain.problem import Problem
from comind.domain.value import Text
from comind.llm.base import Message
from comind.llm.exchange import Prompt
from comind.llm.templates import Templates

__all__ = ["Brainstorm", "Selection", "proposal_of", "propose"]

_TEMPLATES = Templates("comind.agents.comind")
_REPORTS_SHOWN, _IDEAS_SHOWN = 10, 20
_TEXT_SHOWN = 250
_RAW_SHOWN = 40


class Path(BaseModel):
    """One way to solve the competition, and the smallest ideas that it is made of."""

    approach: str
    ideas: list[str]


class Brainstorm(BaseModel):
    """Solution paths, as different from each other and from memory as can be."""

    paths: list[Path]


class KeptIdea(BaseModel):
    """An idea after filtering: merged, split or reworded, with the numbers it was made from."""

    text: Text
    value: int = Field(ge=0, le=10, description="expected gain, weighed against effort")
    made_from: list[int] = []


class Selection(BaseModel):
    """The few ideas worth trying next, best first."""

    ideas: list[KeptIdea]


def proposal_of(state: CampaignState, pool: Pool) -> Think:
    """Return the ideation of a round: what was reported and what is remembered, cut to size."""
    reports: list[JsonValue] = [
        {
            "item": report.item,
            "title": report.title[:_TEXT_SHOWN],
            "summary": report.summary[:_TEXT_SHOWN],
            "effectiveness": report.effectiveness,
            "confidence": report.confidence,
            "ideas": [idea[: _TEXT_SHOWN // 2] for idea in report.ideas[:4]],
        }
        for report in pool.reports[-_REPORTS_SHOWN:]
    ]
    ideas: list[JsonValue] = [
        {
            "id": idea.id,
            "text": idea.text[:_TEXT_SHOWN],
            "used": "; ".join(pool.uses_of(idea.id, state))[:_TEXT_SHOWN],
        }
        for idea in pool.ideas[-_IDEAS_SHOWN:]
    ]
    facts: dict[str, JsonValue] = {
        "reports": reports,
        "ideas": ideas,
        "known": len(pool.ideas),
        "wanted": 2 * state.spec.coders,
        "best": str(state.best.score) if state.best else "",
    }
    return Think(purpose=PROPOSE, facts=facts)


def propose(problem: Problem, work: Think, desk: Desk) -> Finding:
    """Brainstorm over the reports, then keep what is worth trying; each idea says where it is from."""
    paths = desk.ask(_prompt("brainstorm", problem, work), Brainstorm).value.paths
    raw = [idea for path in paths for idea in path.ideas if idea.strip()][:_RAW_SHOWN]
    raw = [" ".join(idea.split())[:_TEXT_SHOWN] for idea in raw]
    if not raw:
        return Finding(result={"ideas": [], "brainstormed": []})
    kept = desk.ask(_prompt("selection", problem, work, raw=raw), Selection).value.ideas
    known, wanted = int(str(work.facts["known"])), int(str(work.facts["wanted"]))
    origins = _origins(work, raw)
    ideas: list[JsonValue] = []
    for number, each in enumerate(kept[:wanted]):
        sources = [origins[n] for n in each.made_from if n in origins]
        sources = sources or [_echoed(each.text, _reported(work))]
        idea = Idea(
            id=f"idea-{known + number:03d}",
            text=" ".join(each.text.split()),
            value=each.value,
            sources=tuple(dict.fromkeys(source for group in sources for source in group)),
        )
        ideas.append(idea.model_dump(mode="json"))
    return Finding(result={"ideas": ideas, "brainstormed": list(raw)})


def _origins(work: Think, raw: list[str]) -> dict[int, tuple[str, ...]]:
    """Return where each numbered idea came from: memory by its id, a new one from the reports it echoes.

    A model that names its sources freely invents some; words that an idea shares with a report do not.
    """
    ideas, texts = work.facts["ideas"], _reported(work)
    assert isinstance(ideas, list)
    origins = {number: _echoed(text, texts) for number, text in enumerate(raw, start=1)}
    for number, idea in enumerate(ideas, start=len(raw) + 1):
        assert isinstance(idea, dict)
        origins[number] = (str(idea["id"]),)
    return origins


def _reported(work: Think) -> dict[str, str]:
    """Return what the reports of a round say, by item."""
    reports = work.facts["reports"]
    assert isinstance(reports, list)
    return {
        str(report["item"]): f"{report['title']} {report['summary']} {report['ideas']}"
        for report in reports
        if isinstance(report, dict)
    }


def _echoed(idea: str, reports: dict[str, str]) -> tuple[str, ...]:
    """Return the items of up to two reports that share the most telling words with an idea."""
    words = _telling(idea)
    shared = {item: len(words & _telling(text)) for item, text in reports.items()}
    ranked = sorted(shared, key=lambda item: (-shared[item], item))
    return tuple(item for item in ranked[:2] if shared[item] >= max(2, len(words) // 4))


def _telling(text: str) -> set[str]:
    plain = "".join(c if c.isalnum() else " " for c in text.lower())
    return {word for word in plain.split() if len(word) > 3}  # noqa: PLR2004 - no articles


def _prompt(name: str, problem: Problem, work: Think, **more: object) -> Prompt:
    system = _TEMPLATES.render("idea_proposer_system")
    return Prompt(
        role=PROPOSE,
        messages=(
            Message(role="system", content=system),
            Message(role="user", content=_TEMPLATES.render(name, problem=problem, **work.facts, **more)),
        ),
        facts={"known": work.facts["known"]},
        max_tokens=1_500,
    )
