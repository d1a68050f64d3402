"""The Idea Proposer: brainstorm, filter and rebuild ideas; memory only grows (paper, section 4.2)."""

import re

from pydantic import BaseModel, Field

from comind.agents.comind.pool import Pool
from comind.agents.comind.sizes import Sizes, first_request
from comind.agents.comind.thoughts import PROPOSE, Idea, IdeaMemo, Ideas, Proposing, ReportMemo
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.work.context import ThinkContext
from comind.domain.problem import Problem
from comind.domain.value import Text
from comind.llm.truncate_prose import truncate_prose

_REPORTS_KEPT, _IDEAS_KEPT = 30, 80  # the context window may allow for fewer
_RAW_SHOWN = 40
# Maximum characters in the facts; prompts may truncate further.
_TITLE_KEPT, _TEXT_KEPT, _IDEA_KEPT = 300, 5_000, 1_500
_IDEAS_A_REPORT = 6
_WORD = re.compile(r"[^\W_]{4,}")  # no articles


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


def proposing_facts(
    state: CampaignState, pool: Pool, refused: str = "", *, memory: bool = True
) -> Proposing:
    """Return the facts of a round's ideas: the best reports and, with `memory`, earlier ideas."""
    remembered = pool.ideas[-_IDEAS_KEPT:] if memory else ()
    ideas = [
        IdeaMemo(
            id=idea.id,
            text=idea.text[:_IDEA_KEPT],
            used="; ".join(pool.uses_of(idea.id, state))[:_IDEA_KEPT],
        )
        for idea in remembered
    ]
    return Proposing(
        reports=best_reports(pool),
        ideas=tuple(ideas),
        known=len(pool.ideas),
        wanted=2 * state.spec.coders,
        best=str(state.best.score) if state.best else "",
        minutes=round(state.work_budget().seconds / 60, 1),
        refused=refused,
    )


def best_reports(pool: Pool) -> tuple[ReportMemo, ...]:
    """Return the reports with the highest ratings, of equals the latest first."""
    latest_first = pool.reports[::-1]
    ranked = sorted(latest_first, key=lambda report: -(report.effectiveness + report.confidence))
    return tuple(
        ReportMemo(
            item=report.item,
            title=report.title[:_TITLE_KEPT],
            summary=report.summary[:_TEXT_KEPT],
            effectiveness=report.effectiveness,
            confidence=report.confidence,
            ideas=tuple(idea[:_IDEA_KEPT] for idea in report.ideas[:_IDEAS_A_REPORT]),
            code=report.code[:_TEXT_KEPT],
            reproduced=report.reproduced[:_TITLE_KEPT],
        )
        for report in ranked[:_REPORTS_KEPT]
    )


def propose(problem: Problem, facts: Proposing, context: ThinkContext) -> Ideas:
    """Brainstorm over the reports, then select the ideas worth trying, each with its sources."""
    sizes = Sizes.of(context.context_tokens)
    facts = facts.model_copy(update={"ideas": facts.ideas[-sizes.ideas_shown :]})
    known = {"problem": problem, **dict(facts)}
    paths = context.ask(first_request(PROPOSE, "brainstorm", context, **known), Brainstorm).value.paths
    raw = [idea for path in paths for idea in path.ideas if idea.strip()][:_RAW_SHOWN]
    raw = [truncate_prose(" ".join(idea.split()), sizes.idea) for idea in raw]
    if not raw:
        return Ideas()
    selection = first_request(PROPOSE, "selection", context, **known, raw=raw)
    kept = context.ask(selection, Selection).value.ideas
    texts = {each.item: f"{each.title} {each.summary} {' '.join(each.ideas)}" for each in facts.reports}
    origins = _origins(facts, raw, texts)
    ideas = []
    for number, each in enumerate(kept[: facts.wanted], start=facts.known):
        sources = [origins[n] for n in each.made_from if n in origins]
        sources = sources or [_echoed(each.text, texts)]
        idea = Idea(
            id=f"idea-{number:03d}",
            text=" ".join(each.text.split()),
            value=each.value,
            sources=tuple(dict.fromkeys(source for group in sources for source in group)),
        )
        ideas.append(idea)
    return Ideas(ideas=tuple(ideas), brainstormed=tuple(raw))


def _origins(facts: Proposing, raw: list[str], reports: dict[str, str]) -> dict[int, tuple[str, ...]]:
    """Return the sources of each numbered idea: its id in memory, or the reports that it echoes.

    Models invent sources; words that an idea shares with a report are reliable.
    """
    origins = {number: _echoed(text, reports) for number, text in enumerate(raw, start=1)}
    remembered = enumerate(facts.ideas, start=len(raw) + 1)
    return origins | {number: (idea.id,) for number, idea in remembered}


def _echoed(idea: str, reports: dict[str, str]) -> tuple[str, ...]:
    """Return the items of up to two reports that share the most words with an idea."""
    words = set(_WORD.findall(idea.lower()))
    shared = {item: len(words & set(_WORD.findall(text.lower()))) for item, text in reports.items()}
    ranked = sorted(shared, key=lambda item: (-shared[item], item))
    return tuple(item for item in ranked[:2] if shared[item] >= max(2, len(words) // 4))
