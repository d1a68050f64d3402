"""The Coordinator: turn ideas into distinct drafts, each with something to start from.

Where time is short, it writes the ideas in the same reply; and beside attempts, a preparation.
"""

from collections.abc import Sequence
from typing import NamedTuple

from comind.agents.comind.conversation import TEMPLATES
from comind.agents.comind.draft_builder import DraftBuilder
from comind.agents.comind.draft_kinds import FEASIBLE, check_kinds
from comind.agents.comind.draft_replies import (
    CODE_KEPT,
    DraftIdea,
    Drafts,
    Preparation,
    ideas_of,
    members,
    preparation_of,
    program_in,
    reply_type,
)
from comind.agents.comind.ensembles import ENSEMBLE, invalid_ensembles
from comind.agents.comind.memos import IdeaMemo
from comind.agents.comind.opening import START_SHARE
from comind.agents.comind.sizes import Sizes, first_request
from comind.agents.comind.thoughts import (
    COORDINATE,
    OPEN,
    PREPARE,
    Drafting,
    Prepared,
    Preparing,
    RoundDrafts,
)
from comind.campaign.work.context import ThinkContext
from comind.domain.community import CommunityView
from comind.domain.draft import Draft
from comind.domain.problem import Problem
from comind.errors import ReplyError
from comind.llm.model_ports import Message

_TRIES = 2  # requests of a list of drafts


def coordinate(
    problem: Problem,
    view: CommunityView,
    facts: Drafting,
    context: ThinkContext,
    *,
    opening: bool = False,
) -> RoundDrafts:
    """Ask for drafts; make them distinct, and check that each kind of the round is among them.

    With `opening` the reply has ideas, too. A list without a new draft, with an invalid ensemble or
    without a kind that the round needs is requested once more with the reason. Of two lists the second
    is used unless it has no draft or lacks more kinds.

    Raises:
        ReplyError: the replies did not match the schema, and there is no draft.
    """
    sizes = Sizes.of(context.context_tokens)
    if sizes.short:  # such a prompt offers no ensembles
        asked = tuple(each for each in facts.asked if each.name != ENSEMBLE)
        facts = facts.model_copy(update={"asked": asked})
    if opening:
        shown = () if sizes.short else facts.reports[: sizes.reports_shown]
        update = {"ideas": facts.ideas[: sizes.ideas_shown], "reports": shown}
        facts = facts.model_copy(update=update)
    purpose = OPEN if opening else COORDINATE
    limits = {"feasible": FEASIBLE, "start_share": START_SHARE}
    values = {"opening": opening, **limits, **dict(facts)}
    request = first_request(purpose, "coordinator", problem, context, **values)
    if opening:  # the reply is that of two thoughts
        request = request.model_copy(update={"max_tokens": 2 * sizes.thought_reply})
    expected = reply_type(facts, short=sizes.short, opening=opening)
    found: _Proposal | None = None
    for _ in range(_TRIES):
        try:
            answer = context.ask(request, expected)
        except ReplyError:
            if found is not None and found.drafts.drafts:
                break
            raise
        new = _proposal(answer.value, view, facts)
        if found is None or (new.drafts.drafts and new.lacks <= found.lacks):
            found = new
        if not new.wrong:
            break
        known = {"problem": problem, "refused": "; ".join(new.wrong), "wanted": facts.wanted}
        again = TEMPLATES.render("coordinator_again", **known, why=new.why)
        reply = Message(role="assistant", content=answer.text)
        messages = (*request.messages, reply, Message(role="user", content=again))
        request = request.model_copy(update={"messages": messages})
    return found.drafts if found is not None else RoundDrafts()


class _Proposal(NamedTuple):
    """One reply as drafts, and what is wrong with it."""

    drafts: RoundDrafts
    wrong: Sequence[str] = ()
    why: str = ""
    """What is wrong: ensembles, kinds, or that nothing is new."""

    @property
    def lacks(self) -> float:
        """Number of missing kinds; infinite without a draft."""
        return len(self.drafts.missing) if self.drafts.drafts else float("inf")


def _proposal(reply: Drafts, view: CommunityView, facts: Drafting) -> _Proposal:
    """Build the drafts of a reply, and find what is wrong with them."""
    ideas, unknown = ideas_of(reply, facts)
    feasible = {each.id: each.feasibility for each in ideas if each.feasibility is not None}
    facts = facts.model_copy(update={"feasibility": facts.feasibility | feasible})
    memos = [IdeaMemo.of(idea) for idea in ideas]
    builder = DraftBuilder(view, facts)
    invalid = invalid_ensembles([(each.title, members(each)) for each in reply.drafts], facts)
    fine = [each for number, each in enumerate(reply.drafts) if number not in invalid]
    distinct, duplicates = builder.distinct([builder.draft(each, memos) for each in fine])
    if not distinct:
        wrong = [*invalid.values(), *duplicates] or [_nothing(reply.drafts)]
        refused = RoundDrafts(refused="; ".join(wrong), ideas=tuple(ideas))
        return _Proposal(refused, wrong, "ensembles" if invalid else "nothing new")
    preparation = preparation_of(reply, facts)
    drafts, missing, reasons = check_kinds(distinct, facts, len(fine))
    found = RoundDrafts(
        drafts=tuple(_prepared(each, preparation) for each in drafts),
        preparation=preparation,
        ideas=tuple(ideas),
        missing=tuple(map(str, missing)),
        unknown=unknown,
    )
    if invalid:
        return _Proposal(found, list(invalid.values()), "ensembles")
    return _Proposal(found, [*reasons, *(duplicates if reasons else ())], "kinds")


def _nothing(proposed: Sequence[DraftIdea]) -> str:
    return "none of them can be used" if proposed else "the list of drafts was empty"


def _prepared(draft: Draft, preparation: str) -> Draft:
    """Add the preparation to a draft, unless it starts from a program or from predictions."""
    if draft.codebase or draft.members:
        return draft
    return draft.model_copy(update={"preparation": preparation})


def prepare(problem: Problem, facts: Preparing, context: ThinkContext) -> Prepared:
    """Ask for the preparation of later fresh drafts; a model with the shortest prompts has none."""
    if Sizes.of(context.context_tokens).short:
        return Prepared()
    request = first_request(PREPARE, "preparation", problem, context, **dict(facts))
    reply = context.ask(request, Preparation).value
    return Prepared(preparation=program_in(reply.code)[:CODE_KEPT])
