"""The Analyzer: turn community items and published solutions into rated reports (paper, section 4.2)."""

import re
from collections.abc import Iterator
from datetime import datetime

from pydantic import Field

from comind.agents.comind.conversation import TEMPLATES
from comind.agents.comind.critic import is_rerun
from comind.agents.comind.parameters import CoMindParameters
from comind.agents.comind.pool import Pool, runs_of
from comind.agents.comind.sampling import TIERS, sample_round
from comind.agents.comind.sizes import first_request
from comind.agents.comind.thoughts import ANALYZE, Component, Item, Ratings, Reading, Report, Reports
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work_items import Attempt
from comind.campaign.work.context import ThinkContext
from comind.domain.community import CommunityView, Discussion, Notebook
from comind.domain.problem import Problem
from comind.domain.value import Text
from comind.errors import ReplyError
from comind.system.plurals import quantity

_TEXT_KEPT = 100_000  # characters; the context window may allow for less
_CELL = re.compile(r"(?m)^(?=# %%)")
_TEXT_CELL = "# %% [markdown]"
_UNPROVEN = 5  # maximum confidence in what was not reproduced here
_SOURCES_NAMED = 10
_LINE_KEPT = 200

# Ratings of the platform's baseline, which no model judges: everybody's program (novelty), which has run
# here (feasibility) and was measured (confidence); the middle for what only a comparison could tell.
_OF_BASELINE = {"novelty": 0, "feasibility": 10, "effectiveness": 5, "efficiency": 5, "confidence": 10}


class Analysis(Ratings):
    """What the model says of one item."""

    summary: Text
    confidence: int = Field(ge=0, le=10)
    weaknesses: list[str] = []
    components: list[Component] = []
    ideas: list[str] = []
    code: str = Field(default="", description="the lines of its code that matter most, word for word")


def reading_facts(
    state: CampaignState, pool: Pool, view: CommunityView, parameters: CoMindParameters
) -> list[Reading]:
    """Return the facts of each reader of the next round; empty if there are no new items."""
    sampled = sample_round(state, pool, view, parameters)
    read = {report.item for report in pool.reports}
    unread = [a for a in _published(state) if a.id not in read] if parameters.solutions_per_round else []
    baselines = tuple(_baseline_report(each) for each in unread if each.work.is_baseline)
    solutions = [a for a in unread if not a.work.is_baseline][: parameters.solutions_per_round]
    limit = state.budget.seconds
    shares = [slice(reader, None, parameters.readers) for reader in range(parameters.readers)]
    parts = (
        Reading(
            sampled=tuple(sampled[share]),
            solutions=tuple(_solution(each) for each in solutions[share]),
            reports=baselines[share],
            reproduced={each.id: "; ".join(runs_of(each.id, state)) for each in sampled[share]},
            seconds=None if limit is None else parameters.reading_share * limit,
        )
        for share in shares
    )
    return [part for part in parts if part.sampled or part.solutions or part.reports]


def analyze(problem: Problem, view: CommunityView, reading: Reading, context: ThinkContext) -> Reports:
    """Report on the items of one reader; skip those without a valid reply."""
    reports = list(reading.reports)
    skipped: list[str] = []
    for item in _items(view, reading):
        if reading.seconds is not None and context.state.spend.seconds > reading.seconds:
            skipped.append(f"{item.id}: not read, the round's time for reading is over")
            continue
        request = first_request(ANALYZE, "analyzer", problem, context, item=item)
        try:
            reply = context.ask(request, Analysis).value
        except ReplyError as error:
            skipped.append(f"{item.id}: {error}")
            continue
        reports.append(_report(item, reply))
    return Reports(reports=tuple(reports), skipped=tuple(skipped), pooled=True)


def _report(item: Item, reply: Analysis) -> Report:
    """Return the report on an item, with no more confidence than what was reproduced allows."""
    most = 10 if item.reproduced else _UNPROVEN
    parts = [
        part.model_dump() | {"confidence": part.confidence and min(part.confidence, most)}
        for part in reply.components
    ]
    rated = reply.model_dump() | {"confidence": min(reply.confidence, most), "components": parts}
    facts = item.model_dump(exclude={"id", "text", "circumstances"})
    return Report.model_validate({"item": item.id, **facts, **rated})


def _items(view: CommunityView, reading: Reading) -> list[Item]:
    """Return what a reader reads: solutions first, so that no lack of time leaves out the best one."""
    notebooks = {each.ref: each for each in view.all_notebooks}
    discussions = {each.id: each for each in view.all_discussions}
    items = list(reading.solutions)
    for each in reading.sampled:
        if each.item_type == "notebook" and each.id in notebooks:
            notebook = notebooks[each.id]
            claim = "" if notebook.public_score is None else f"public score {notebook.public_score:g}"
            items.append(
                Item(
                    id=each.id,
                    item_type=each.item_type,
                    title=notebook.title,
                    text=_code_cells_first(notebook.source)[:_TEXT_KEPT],
                    claim=claim,
                    reproduced=reading.reproduced.get(each.id, ""),
                    circumstances="; ".join(_of_notebook(notebook)),
                )
            )
        elif each.item_type == "discussion" and each.id in discussions:
            thread = discussions[each.id]
            answers = [f"{c.author}: {c.body}" for c in thread.comments]
            text = "\n\n".join([f"{thread.author}: {thread.body}", *answers])[:_TEXT_KEPT]
            items.append(
                Item(
                    id=each.id,
                    item_type=each.item_type,
                    title=thread.title,
                    text=text,
                    circumstances="; ".join(_of_discussion(thread)),
                )
            )
    return items


def _of_notebook(notebook: Notebook) -> Iterator[str]:
    """Yield what is known around a notebook, in words."""
    yield from _published_by(notebook.votes, notebook.author_tier, notebook.created_at)
    for relation, refs in (
        ("reads the datasets", notebook.datasets),
        ("uses the notebooks", notebook.notebooks),
        ("loads the models", notebook.models),
        ("is a fork of", (notebook.forked_from,) if notebook.forked_from else ()),
    ):
        if refs:
            more = ", ..." if len(refs) > _SOURCES_NAMED else ""
            yield f"it {relation} {', '.join(refs[:_SOURCES_NAMED])}{more}"


def _of_discussion(thread: Discussion) -> Iterator[str]:
    """Yield what is known around a discussion, in words."""
    yield from _published_by(thread.votes, thread.author_tier, thread.posted_at)
    yield quantity(len(thread.comments), "comment")


def _published_by(votes: int, tier: str, at: datetime | None) -> Iterator[str]:
    yield quantity(votes, "vote")
    if tier.strip().lower() in TIERS:
        yield f"its author is a Kaggle {tier.strip().lower()}"
    if at is not None:
        yield f"posted on {at:%Y-%m-%d}"


def _code_cells_first(source: str) -> str:
    """Move code cells before text cells, each kind in its order.

    Cells are in the percent format (`# %%`), in which notebooks are stored.
    """
    cells = _CELL.split(source)
    texts = [cell for cell in cells if cell.startswith(_TEXT_CELL)]
    codes = [cell for cell in cells if not cell.startswith(_TEXT_CELL)]
    return "\n".join(cell.strip("\n") for cell in [*codes, *texts] if cell.strip())


def _published(state: CampaignState) -> list[Attempt]:
    """Return attempts with a published solution: the best one, then the latest first."""
    published = [
        attempt
        for attempt in reversed(state.works.attempts())
        if attempt.score is not None and not is_rerun(attempt.work)
    ]
    best = state.best.work_id if state.best else ""
    return sorted(published, key=lambda attempt: attempt.id != best)


def _baseline_report(attempt: Attempt) -> Report:
    """Return the report on the platform's baseline from what was recorded, without a model."""
    assert attempt.outcome is not None
    draft, outcome = attempt.work.draft, attempt.outcome
    lines = [
        "The platform's own program for these data, which no agent wrote.",
        f"It scored {attempt.result} and ran {outcome.code_seconds:.0f} s.",
        outcome.report or draft.method,
        *(f"- {cell.goal} ({cell.result})"[:_LINE_KEPT] for cell in outcome.cells),
    ]
    known = {
        "item": attempt.id,
        "item_type": "solution",
        "title": attempt.title,
        "summary": "\n".join(filter(None, lines)),
        "reasons": "These ratings are fixed values, not a judgement.",
        "reproduced": _itself(attempt),
    }
    return Report.model_validate(known | _OF_BASELINE)


def _itself(attempt: Attempt) -> str:
    return f"{attempt.id} itself: {attempt.result}"


def _solution(attempt: Attempt) -> Item:
    assert attempt.outcome is not None
    draft, outcome = attempt.work.draft, attempt.outcome
    text = TEMPLATES.render(
        "solution",
        draft=draft,
        outcome=outcome,
        parents=attempt.work.parents,
        own=outcome.code.removeprefix(draft.codebase).strip() if draft.codebase else outcome.code,
        led=[cell for cell in reversed(outcome.cells) if cell.code],
        others=[cell for cell in outcome.cells if not cell.code],
    )
    return Item(
        id=attempt.id,
        item_type="solution",
        title=attempt.title,
        text=text[:_TEXT_KEPT],
        reproduced=_itself(attempt),
    )
