"""The Idea Proposer: brainstorm, filter and rebuild ideas; memory only grows (paper, section 4.2)."""

import json
import math
from typing import Annotated, TypeVar

from pydantic import BaseModel, Field

from comind.agents.comind.conversation import TEMPLATES
from comind.agents.comind.idea_sources import Claim, Sources
from comind.agents.comind.memos import ComponentMemo, Idea, IdeaMemo, ReportMemo
from comind.agents.comind.pool import Pool, round_budget, runs_of
from comind.agents.comind.sizes import Sizes, first_request
from comind.agents.comind.thoughts import PROPOSE, Component, Ideas, Proposing, Report
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.work.context import ThinkContext
from comind.community.provenance import NodeKind
from comind.domain.problem import Problem
from comind.domain.value import Text
from comind.errors import ReplyError
from comind.llm.model_ports import Message, ModelRequest
from comind.llm.truncate_prose import truncate_prose

_REPORTS_KEPT, _IDEAS_KEPT = 30, 80  # the context window may allow for fewer
# Maximum characters in the facts; prompts may truncate further.
_TITLE_KEPT, _TEXT_KEPT, _IDEA_KEPT = 300, 5_000, 1_500
_IDEAS_A_REPORT, _WEAKNESSES_A_REPORT, _COMPONENTS_A_REPORT = 6, 4, 4
_AGREEMENT_SHARE = 0.2  # of an idea's value

Label = Annotated[str, Field(coerce_numbers_to_str=True)]
"""Such as R1; a bare number is refused like any unknown label."""
_Rating = Annotated[int, Field(ge=0, le=10)]


class RawIdea(BaseModel):
    """One step of a path, and the labels of what it comes from."""

    text: str
    sources: list[Label] = Field(default=[], description="numbers, such as R1 or I2, if any")


class Path(BaseModel):
    """One way to solve the competition, and the smallest ideas that it is made of."""

    approach: str
    ideas: list[RawIdea]


class Brainstorm(BaseModel):
    """Solution paths, as different from each other and from memory as can be."""

    paths: list[Path]

    def claims(self) -> list[Claim]:
        """Return the new ideas with the sources that they name."""
        ideas = (idea for path in self.paths for idea in path.ideas)
        return [Claim(idea.text, idea.sources) for idea in ideas if idea.text.strip()]


class KeptIdea(BaseModel):
    """An idea after filtering: merged, split or reworded, with the labels of what it was made from."""

    text: Text
    feasibility: _Rating
    potential: _Rating
    agreement: _Rating
    made_from: list[Label] = Field(default=[], description="numbers, such as N1, I2 or R3")

    @property
    def worth(self) -> float:
        """Order of kept ideas: four fifths sqrt(potential x feasibility), one fifth agreement.

        So an idea that gains nothing, or cannot be done, comes last, however well it agrees.
        """
        gain = math.sqrt(self.potential * self.feasibility)
        return (1 - _AGREEMENT_SHARE) * gain + _AGREEMENT_SHARE * self.agreement

    def idea(self, sources: Sources) -> Idea:
        """Return it with its value and sources, not yet numbered."""
        return Idea(
            id="",
            text=" ".join(self.text.split()),
            value=round(self.worth),
            feasibility=self.feasibility,
            potential=self.potential,
            agreement=self.agreement,
            sources=sources.of(self.made_from),
        )


class Selection(BaseModel):
    """The few ideas worth trying next."""

    ideas: list[KeptIdea]

    def claims(self) -> list[Claim]:
        """Return the kept ideas with what they were made from."""
        return [Claim(idea.text, idea.made_from) for idea in self.ideas]


_Reply = TypeVar("_Reply", Brainstorm, Selection)


def proposing_facts(
    state: CampaignState, pool: Pool, refused: str = "", *, memory: bool = True
) -> Proposing:
    """Return the facts of a round's ideas: the best reports and, with `memory`, earlier ideas."""
    return Proposing(
        reports=best_reports(state, pool),
        ideas=best_ideas(state, pool) if memory else (),
        known=len(pool.ideas),
        wanted=2 * state.spec.coders,
        best=str(state.best.score) if state.best else "",
        minutes=round(round_budget(state).seconds / 60, 1),
        refused=refused,
    )


def best_ideas(state: CampaignState, pool: Pool) -> tuple[IdeaMemo, ...]:
    """Return the ideas of all rounds, each with its results, as far as prompts have room for them.

    Untried ideas come first, then the highest values, of equals the latest.
    """
    latest_first = [(idea, "; ".join(pool.uses_of(idea.id, state))) for idea in pool.ideas[::-1]]
    ranked = sorted(latest_first, key=lambda known: (bool(known[1]), -known[0].value))
    return tuple(IdeaMemo.of(idea, used) for idea, used in ranked[:_IDEAS_KEPT])


def best_reports(state: CampaignState, pool: Pool) -> tuple[ReportMemo, ...]:
    """Return the report on the best attempt, then those with the highest merit.

    Of equals reproduced ones come first, then the latest. An item that was read before an attempt
    started from it counts as reproduced since.
    """
    latest_first = [
        each.model_copy(update={"reproduced": "; ".join(runs_of(each.item, state)) or each.reproduced})
        if each.item_type != NodeKind.SOLUTION
        else each
        for each in pool.reports[::-1]
    ]
    ranked = sorted(
        latest_first,
        key=lambda report: (report.item != pool.best, -report.merit, not report.reproduced),
    )
    return tuple(memo_of(report) for report in ranked[:_REPORTS_KEPT])


def memo_of(report: Report) -> ReportMemo:
    """Return a report in short, with its best components."""
    best = sorted(report.components, key=_component_order)[:_COMPONENTS_A_REPORT]
    return ReportMemo(
        item=report.item,
        item_type=report.item_type,
        title=report.title[:_TITLE_KEPT],
        summary=report.summary[:_TEXT_KEPT],
        novelty=report.novelty,
        feasibility=report.feasibility,
        effectiveness=report.effectiveness,
        efficiency=report.efficiency,
        confidence=report.confidence,
        reasons=report.reasons[:_IDEA_KEPT],
        weaknesses=tuple(each[:_IDEA_KEPT] for each in report.weaknesses[:_WEAKNESSES_A_REPORT]),
        components=tuple(
            ComponentMemo(name=part.name[:_TITLE_KEPT], novelty=part.novelty, confidence=part.confidence)
            for part in best
        ),
        ideas=tuple(idea[:_IDEA_KEPT] for idea in report.ideas[:_IDEAS_A_REPORT]),
        code=report.code[:_TEXT_KEPT],
        claim=report.claim[:_TITLE_KEPT],
        reproduced=report.reproduced[:_TITLE_KEPT],
    )


def _component_order(component: Component) -> tuple[int, int]:
    """Order components by effectiveness, then confidence, the highest first."""
    return -component.effectiveness, -(component.confidence or 0)


def propose(problem: Problem, facts: Proposing, context: ThinkContext, *, filtering: bool) -> Ideas:
    """Brainstorm over the reports, then filter in the same conversation; each idea has its sources.

    A reply that names unknown sources is requested once more; those of the second reply are dropped.
    Without `filtering` the new ideas are taken in their order, unrated.
    """
    sizes = Sizes.of(context.context_tokens)
    shown = {"reports": facts.reports[: sizes.reports_shown], "ideas": facts.ideas[: sizes.ideas_shown]}
    facts = facts.model_copy(update=shown)
    sources = Sources(facts.reports, facts.ideas)
    request = first_request(PROPOSE, "brainstorm", problem, context, **dict(facts))
    reply, unknown = _ask(context, request, Brainstorm, sources)
    brainstorm = _shortened(reply, sources, sizes)
    raw = brainstorm.claims()
    kept = [Idea(id="", text=each.text, sources=sources.of(each.labels)) for each in raw]
    if raw and filtering:
        request = _selection(request, facts, sizes, brainstorm, sources.with_new(raw))
        selection, dropped = _ask(context, request, Selection, sources)
        unknown += dropped
        kept = [each.idea(sources) for each in sorted(selection.ideas, key=lambda each: -each.worth)]
    numbered = enumerate(kept[: facts.wanted], start=facts.known)
    return Ideas(
        ideas=tuple(idea.model_copy(update={"id": f"idea-{number:03d}"}) for number, idea in numbered),
        brainstormed=tuple(each.text for each in raw),
        unknown=unknown,
    )


def _ask(
    context: ThinkContext, request: ModelRequest, reply_type: type[_Reply], sources: Sources
) -> tuple[_Reply, tuple[str, ...]]:
    """Return a reply, and the unknown sources in it; because of these it is requested once more.

    The first reply is used if the second one is invalid or has no idea.

    Raises:
        ReplyError: the first reply did not match the schema.
    """
    answer = context.ask(request, reply_type)
    first, unknown = answer.value, sources.unknown(answer.value.claims())
    if not unknown:
        return first, ()
    again = TEMPLATES.render("sources_again", unknown=unknown, known=sources.known)
    reply = Message(role="assistant", content=answer.text)
    messages = (*request.messages, reply, Message(role="user", content=again))
    try:
        second = context.ask(request.model_copy(update={"messages": messages}), reply_type).value
    except ReplyError:
        return first, unknown
    return (second, sources.unknown(second.claims())) if second.claims() else (first, unknown)


def _shortened(brainstorm: Brainstorm, sources: Sources, sizes: Sizes) -> Brainstorm:
    """Return the first ideas of a brainstorm, each truncated and with its known sources."""
    paths, room = [], sizes.raw_shown
    for path in brainstorm.paths:
        ideas = [
            RawIdea(
                text=truncate_prose(" ".join(idea.text.split()), sizes.idea),
                sources=sources.known_among(idea.sources),
            )
            for idea in path.ideas
            if idea.text.strip()
        ][:room]
        room -= len(ideas)
        if ideas:
            paths.append(Path(approach=truncate_prose(path.approach, sizes.suggestion), ideas=ideas))
    return Brainstorm(paths=paths)


def _selection(
    request: ModelRequest, facts: Proposing, sizes: Sizes, brainstorm: Brainstorm, labels: list[str]
) -> ModelRequest:
    """Return the request to filter: it continues the brainstorm, whose reply has a label for each idea.

    So competition, data, machine, reports and new ideas stand in the conversation once.
    """
    next_label = iter(labels)
    paths = [
        {
            "approach": path.approach,
            "ideas": [{"number": next(next_label), **idea.model_dump()} for idea in path.ideas],
        }
        for path in brainstorm.paths
    ]
    reply = json.dumps({"paths": paths}, ensure_ascii=False)
    task = TEMPLATES.render("selection", **dict(facts), sizes=sizes, labels=labels)
    messages = (
        *request.messages,
        Message(role="assistant", content=reply),
        Message(role="user", content=task),
    )
    return request.model_copy(update={"messages": messages})
