"""The Coordinator: turn selected ideas into distinct drafts, each with something to start from."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel, Field, create_model
from rapidfuzz import fuzz
from rapidfuzz.utils import default_process

from comind.agents.comind.adapt import MAX_CHARACTERS
from comind.agents.comind.conversation import TEMPLATES
from comind.agents.comind.ensembles import (
    ENSEMBLE,
    comparison_table,
    correlation_limit,
    invalid_ensembles,
)
from comind.agents.comind.idea_proposer import best_reports
from comind.agents.comind.memos import IdeaMemo
from comind.agents.comind.pool import Pool, complements
from comind.agents.comind.sampling import notebooks_to_start_from, sample_datasets
from comind.agents.comind.sizes import Sizes, first_request
from comind.agents.comind.thoughts import (
    COORDINATE,
    CoMindParameters,
    Drafting,
    RoundDrafts,
    StartingPoint,
    Tried,
)
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work_items import Attempt
from comind.campaign.work.context import ThinkContext
from comind.domain.community import CommunityView
from comind.domain.draft import Draft
from comind.domain.problem import Problem
from comind.domain.resources import Hardware
from comind.domain.value import Text
from comind.errors import ReplyError
from comind.llm.model_ports import Message
from comind.llm.reply_format import extract_program

# Kinds of a round's drafts: something robust, an extension of the best solution, something new.
_BASELINE = "baseline"
_EXTEND = "extend"
_NOVEL = "novel"
_STRATEGIES = (_BASELINE, _EXTEND, _NOVEL)

_CODE_KEPT = 60_000  # characters; longer code is no starting point
_SOLUTIONS_KEPT, _TRIED_KEPT = 8, 40  # the context window may allow for fewer
_TITLE_LENGTH, _TEXT_SHOWN = 120, 300
_REPORT_KEPT = 5_000  # characters
_TRIES = 2  # requests of a list of drafts
_ABSTRACT = 100  # tokens of a report's code, below which prompts have their shortest form
_NEARLY = 90  # similarity of idea and method, of 100, above which the method contains the idea
_STRATEGIES_NEED = 3  # drafts for which all kinds are enforced


class DraftIdea(BaseModel):
    """One draft, as a model proposes it."""

    title: Text = Field(max_length=_TITLE_LENGTH)
    strategy: str = Field(default=_NOVEL, alias="kind", description="baseline, extend or novel")
    method: Text
    ideas: list[int] = Field(default=[], description="numbers of the ideas that it uses")
    start_from: str = Field(default="", description="id of the solution or notebook to start from")
    datasets: list[str] = []
    code: str = Field(default="", description="the few lines that matter most, if there are any")


class Drafts(BaseModel):
    """What one attempt each will implement; empty when there is nothing to propose."""

    drafts: list[DraftIdea]


# Drafts with a preparation for fresh ones. Without it, as in older logs, the request is unchanged,
# down to the name of the reply type.
_PreparedDrafts = create_model(
    "Drafts",
    __base__=Drafts,
    preparation=(str, Field(default="", description="Python code; empty to keep what there is")),
)


# Drafts that may combine solutions.
_CombiningIdea = create_model(
    "DraftIdea",
    __base__=DraftIdea,
    strategy=(str, Field(_NOVEL, alias="kind", description="baseline, extend, novel or ensemble")),
    combine=(list[str], Field(default=[], description="ids of what an ensemble combines")),
)
_CombiningDrafts = create_model(
    "Drafts",
    __base__=_PreparedDrafts,
    drafts=(list[_CombiningIdea], ...),
)


# Drafts that may need a kind of machine.
_GPUS = (int, Field(default=0, ge=0, description="GPUs that it cannot do without"))
_MEMORY = (int, Field(default=0, ge=0, description="memory that it cannot do without"))
_PlacedIdea = create_model("DraftIdea", __base__=DraftIdea, gpus=_GPUS, memory_gb=_MEMORY)
_PlacedDrafts = create_model("Drafts", __base__=_PreparedDrafts, drafts=(list[_PlacedIdea], ...))
_PlacedCombiningIdea = create_model("DraftIdea", __base__=_CombiningIdea, gpus=_GPUS, memory_gb=_MEMORY)
_PlacedCombiningDrafts = create_model(
    "Drafts", __base__=_PreparedDrafts, drafts=(list[_PlacedCombiningIdea], ...)
)


def drafting_facts(
    state: CampaignState,
    pool: Pool,
    view: CommunityView,
    refused: str = "",
    *,
    datasets: int = CoMindParameters().datasets_per_round,
) -> Drafting:
    """Return the facts of a round's drafting: ideas, reports, starting points, earlier attempts."""
    attempts, table = state.works.attempts(), comparison_table(state)
    ideas = [idea for idea in pool.ideas if idea.id in pool.latest]
    starts = [
        StartingPoint(
            id=a.id,
            title=a.title,
            result=a.result,
            code=a.outcome.code,
            seconds=a.outcome.code_seconds,
            report=a.outcome.report[:_REPORT_KEPT],
            inputs=tuple(each for each in a.work.inputs if each in a.outcome.code),
        )
        for a in state.works.best_first()[:_SOLUTIONS_KEPT]
        if a.outcome is not None and len(a.outcome.code) <= _CODE_KEPT
    ]
    return Drafting(
        wanted=state.spec.coders,
        ideas=tuple(IdeaMemo.of(idea) for idea in ideas),
        solutions=tuple(starts),
        best=state.best.work_id if state.best else "",
        tried=tuple(_tried(each) for each in attempts[-_TRIED_KEPT:]),
        titles=tuple(dict.fromkeys(t for a in attempts for t in (a.work.draft.title, a.title))),
        notebooks=notebooks_to_start_from(state, pool, view),
        datasets=sample_datasets(state, pool, view, datasets),
        finished=sum(a.outcome is not None for a in attempts),
        reports=best_reports(pool),
        minutes=round(state.work_budget().seconds / 60, 1),
        refused=refused,
        complements=complements(state, view, pool),
        preparation=None if state.split and state.split.program else _latest_preparation(attempts),
        folds=state.split.folds if state.split else 0,
        compared=table,
        alike=correlation_limit(table),
        kinds=state.spec.node_kinds if state.spec.pool else (),
    )


def _tried(attempt: Attempt) -> Tried:
    """Return an attempt in short: its score or failure, or its method while it is running."""
    return Tried(
        title=attempt.title[:_TITLE_LENGTH],
        result=" ".join(attempt.result.split())[:_TEXT_SHOWN],
        method="" if attempt.outcome else " ".join(attempt.work.draft.method.split())[:_TEXT_SHOWN],
    )


def _latest_preparation(attempts: list[Attempt]) -> str:
    """Return the preparation that ran without error in the latest attempt that has ended; else empty."""
    ran = (a.work.draft.preparation for a in reversed(attempts) if a.outcome and a.outcome.prepared)
    return next(ran, "")


def coordinate(
    problem: Problem, view: CommunityView, facts: Drafting, context: ThinkContext
) -> RoundDrafts:
    """Ask for drafts; make them distinct and give each kind of the round to one of them.

    A list without a new draft, or with an invalid ensemble, is requested once more with the reason. If
    the second reply is invalid, the first list is used as far as possible.

    Raises:
        ReplyError: the replies did not match the schema, and there is no draft.
    """
    request = first_request(COORDINATE, "coordinator", context, problem=problem, **dict(facts))
    reply_type = _reply_type(facts, short=Sizes.of(context.context_tokens).abstract < _ABSTRACT)
    builder, refused, found = _DraftBuilder(view, facts), "", RoundDrafts()
    for _ in range(_TRIES):
        try:
            answer = context.ask(request, reply_type)
        except ReplyError:
            if found.drafts:
                break
            raise
        proposed = answer.value.drafts
        wrong = invalid_ensembles([(each.title, _members(each)) for each in proposed], facts)
        fine = [builder.draft(each) for number, each in enumerate(proposed) if number not in wrong]
        drafts = builder.distinct(fine)[: facts.wanted]
        if drafts:
            preparation = _preparation(answer.value, facts)
            planned = builder.with_every_part(drafts)
            found = RoundDrafts(
                drafts=tuple(_prepared(each, preparation) for each in planned), preparation=preparation
            )
        if found.drafts and not wrong:
            break
        refused = "; ".join(wrong.values()) or _nothing_new(proposed)
        known = {"problem": problem, "refused": refused, "wanted": facts.wanted}
        again = TEMPLATES.render("coordinator_again", **known, ensembles=bool(wrong))
        reply = Message(role="assistant", content=answer.text)
        messages = (*request.messages, reply, Message(role="user", content=again))
        request = request.model_copy(update={"messages": messages})
    return found if found.drafts else RoundDrafts(refused=refused)


def _reply_type(facts: Drafting, *, short: bool) -> type[Drafts]:
    """Return the type of the reply; for prompts of the shortest form the simplest one."""
    if short or facts.preparation is None:
        return Drafts
    if not facts.kinds:
        return _PreparedDrafts if facts.alike is None else _CombiningDrafts
    return _PlacedDrafts if facts.alike is None else _PlacedCombiningDrafts


def _nothing_new(proposed: Sequence[DraftIdea]) -> str:
    titles = ", ".join(f'"{each.title}"' for each in proposed)
    return f"all of these were tried before: {titles}" if proposed else "the list of drafts was empty"


def _preparation(proposed: Drafts, facts: Drafting) -> str:
    """Return the preparation of a round's fresh drafts: that of the reply, else the latest one."""
    known = facts.preparation or ""
    given = str(getattr(proposed, "preparation", ""))
    if not given.strip():
        return known
    try:
        return extract_program(given)[:_CODE_KEPT]
    except ReplyError:  # not Python
        return known


def _prepared(draft: Draft, preparation: str) -> Draft:
    """Add the preparation to a draft, unless it starts from a program or from predictions."""
    if draft.codebase or draft.members:
        return draft
    return draft.model_copy(update={"preparation": preparation})


def _contains(method: str, idea: str) -> bool:
    """Whether a method has nearly all words of an idea, ignoring numbers."""
    texts = (re.sub(r"\d[\d.,]*", " ", text) for text in (method, idea))
    return fuzz.token_set_ratio(*texts, processor=default_process) >= _NEARLY


class _DraftBuilder:
    """Builds drafts from a model's reply and the facts of a round."""

    def __init__(self, view: CommunityView, facts: Drafting) -> None:
        self._starts = {each.id: each for each in facts.solutions}
        self._best = facts.best if facts.best in self._starts else ""
        self._notebooks = {each.ref: each for each in view.all_notebooks}
        self._ideas = facts.ideas
        self._datasets = {each.ref for each in facts.datasets}
        self._with_files = {each.ref for each in view.datasets if each.files}
        self._kinds = facts.kinds
        self._titles = {title.casefold() for title in facts.titles}

    def draft(self, proposed: DraftIdea) -> Draft:
        """Convert a proposed draft: look up ids, and add the code that it starts from."""
        ideas = [self._ideas[n - 1] for n in proposed.ideas if 0 < n <= len(self._ideas)]
        members = _members(proposed)
        start = "" if members else proposed.start_from.strip()
        base = self._base(start)
        datasets = [ref for ref in proposed.datasets if ref in self._datasets]
        came_from = [start] if base else members
        parts = [proposed.method.strip()]
        missing = [idea.text for idea in ideas if not _contains(proposed.method, idea.text)]
        if missing:
            heading = "Ideas to use (where numbers differ, those above hold):"
            parts.append("\n".join([heading, *(f"- {text}" for text in missing)]))
        if proposed.code.strip():
            parts.append(f"Essential code:\n\n```python\n{proposed.code.strip()}\n```")
        wanted = _needs(proposed)
        needs = wanted.limited_to(self._kinds)
        if needs != wanted:
            parts.append(f"It was proposed for a machine with {wanted}; it runs on one with {needs}.")
        known = self._starts.get(start)
        mounted = [start, *(known.inputs if known else ())] if base else members
        if start in self._notebooks:  # the datasets that it reads
            datasets += [ref for ref in self._notebooks[start].datasets if ref in self._with_files]
        return Draft(
            title=" ".join(proposed.title.split())[:_TITLE_LENGTH],
            strategy=ENSEMBLE if members else proposed.strategy.strip().lower(),
            members=tuple(members),
            method="\n\n".join(parts),
            sources=tuple(dict.fromkeys([*(idea.id for idea in ideas), *came_from, *datasets])),
            inputs=tuple(dict.fromkeys([*mounted, *datasets])),
            needs=needs,
            **base,
        )

    def distinct(self, drafts: list[Draft]) -> list[Draft]:
        """Drop drafts whose title is a duplicate or was tried before."""
        new: dict[str, Draft] = {}
        for draft in drafts:
            new.setdefault(draft.title.casefold(), draft)
        return [draft for title, draft in new.items() if title not in self._titles]

    def with_every_part(self, drafts: list[Draft]) -> list[Draft]:
        """Assign strategies: one draft extends the best solution and, with room, each one occurs.

        One that the model omitted goes to the closest draft; of one or two drafts, `baseline` and
        `novel` ones keep theirs.
        """
        ensembles = [draft for draft in drafts if draft.members]
        drafts = [draft for draft in drafts if not draft.members]
        if not drafts:
            return ensembles
        drafts = [self._extending(d) if d.strategy == _EXTEND else d for d in drafts]
        fixed = (_BASELINE, _NOVEL)
        room = len(drafts) >= _STRATEGIES_NEED or any(draft.strategy not in fixed for draft in drafts)
        if room and self._best and not any(self._best in draft.sources for draft in drafts):
            fits = (n for n, d in enumerate(drafts) if d.strategy not in fixed or not d.codebase)
            number = next(fits, 0)
            drafts[number] = self._extending(drafts[number])
        if len(drafts) >= _STRATEGIES_NEED:
            drafts = _filled(drafts, _BASELINE, key=lambda d: len(d.sources))
            drafts = _filled(drafts, _NOVEL, key=lambda d: -len(d.sources))
        return [*(_named(draft) for draft in drafts), *ensembles]

    def _extending(self, draft: Draft) -> Draft:
        if not self._best or draft.codebase:
            return _with_strategy(draft, _EXTEND if draft.codebase else _NOVEL)
        ids = (self._best,)
        values = {
            "strategy": _EXTEND,
            **self._base(self._best),
            "sources": tuple(dict.fromkeys(draft.sources + ids)),
            "inputs": tuple(dict.fromkeys(draft.inputs + ids + self._starts[self._best].inputs)),
        }
        return draft.model_copy(update=values)

    def _base(self, start: str) -> dict[str, Any]:
        """Return a draft's fields on the code that it starts from; empty for an unknown id.

        A public notebook is unchanged: the attempt adapts it.
        """
        if start in self._starts:
            known = self._starts[start]
            return {
                "codebase": known.code,
                "codebase_seconds": known.seconds,
                "codebase_result": known.result,
            }
        if start in self._notebooks:
            found = self._notebooks[start]
            return {"codebase": found.source[:MAX_CHARACTERS], "notebook": found.language}
        return {}


def _members(proposed: DraftIdea) -> list[str]:
    """Return the distinct solutions that a draft combines."""
    named = getattr(proposed, "combine", ())
    return list(dict.fromkeys(each.strip() for each in named if each.strip()))


def _needs(proposed: DraftIdea) -> Hardware:
    """Return the machine that a draft needs; none in particular where it was not offered."""
    return Hardware(gpus=getattr(proposed, "gpus", 0), memory_gb=getattr(proposed, "memory_gb", 0))


def _filled(drafts: list[Draft], strategy: str, *, key: Callable[[Draft], int]) -> list[Draft]:
    """Give `strategy` to the draft with the lowest `key` that extends nothing, unless a draft has it."""
    counts = Counter(draft.strategy for draft in drafts)
    free = [
        d for d in drafts if not d.codebase and (d.strategy not in _STRATEGIES or counts[d.strategy] > 1)
    ]
    if counts[strategy] or not free:
        return drafts
    chosen = min(free, key=key)
    return [_with_strategy(draft, strategy) if draft is chosen else draft for draft in drafts]


def _named(draft: Draft) -> Draft:
    """Replace an unknown strategy."""
    if draft.strategy in _STRATEGIES:
        return draft
    return _with_strategy(draft, _EXTEND if draft.codebase else _NOVEL)


def _with_strategy(draft: Draft, strategy: str) -> Draft:
    return draft.model_copy(update={"strategy": strategy})
