"""The Analyzer: turn community items and published solutions into rated reports (paper, section 4.2)."""

import random
import re

from pydantic import Field

from comind.agents.comind.conversation import TEMPLATES
from comind.agents.comind.pool import Pool, runs_of
from comind.agents.comind.sizes import first_request
from comind.agents.comind.thoughts import (
    ANALYZE,
    CoMindParameters,
    Component,
    Item,
    Ratings,
    Reading,
    Report,
    Reports,
    Sampled,
)
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work_items import Attempt
from comind.campaign.work.context import ThinkContext
from comind.domain.community import CommunityView
from comind.domain.problem import Problem
from comind.domain.value import Text
from comind.errors import ReplyError

_TEXT_KEPT = 100_000  # characters; the context window may allow for less
_CELL = re.compile(r"(?m)^(?=# %%)")
_TEXT_CELL = "# %% [markdown]"
_UNPROVEN = 5  # maximum confidence in what was not reproduced here


class Analysis(Ratings):
    """What the model says of one item."""

    summary: Text
    confidence: int = Field(ge=0, le=10)
    components: list[Component] = []
    ideas: list[str] = []
    code: str = Field(default="", description="the lines of its code that matter most, word for word")


def reading_facts(
    state: CampaignState,
    pool: Pool,
    view: CommunityView,
    parameters: CoMindParameters,
    *,
    seed: int,
    number: int,
) -> list[Reading]:
    """Return the facts of each reader of round `number`; empty if there are no new items."""
    read = {report.item for report in pool.reports}
    sampled = _sample(view, read, parameters, seed=seed, number=number)
    unread = [a for a in _published(state) if a.id not in read]
    solutions = unread[: parameters.solutions_per_round]
    limit = state.budget.seconds
    shares = (slice(reader, None, parameters.readers) for reader in range(parameters.readers))
    parts = (
        Reading(
            sampled=tuple(sampled[share]),
            solutions=tuple(_solution(each) for each in solutions[share]),
            reproduced={each.id: "; ".join(runs_of(each.id, state)) for each in sampled[share]},
            seconds=None if limit is None else parameters.reading_share * limit,
        )
        for share in shares
    )
    return [part for part in parts if part.sampled or part.solutions]


def _sample(
    view: CommunityView, read: set[str], parameters: CoMindParameters, *, seed: int, number: int
) -> list[Sampled]:
    """Sample the items of round `number`: the best ranked unread ones, and random ones of the others.

    Random items give a chance to what the ranking underrates. The sample depends only on seed and round.
    """
    draw = random.Random(f"{seed}:{number}")  # noqa: S311 - not for security
    found: list[Sampled] = []
    for item_type, names, best in (
        ("notebook", [item.ref for item in view.notebooks], parameters.notebooks_per_round),
        ("discussion", [item.id for item in view.discussions], parameters.discussions_per_round),
    ):
        unread = [name for name in names if name not in read]
        for name in unread[:best]:
            why = f"number {names.index(name) + 1} of {len(names)} {item_type}s by rank, unread"
            found.append(Sampled(id=name, item_type=item_type, why=why))
        rest = unread[best:]
        why = f"drawn at random from {len(rest)} unread {item_type}s of lower rank"
        drawn = draw.sample(rest, min(parameters.random_per_round, len(rest)))
        found += (Sampled(id=name, item_type=item_type, why=why) for name in drawn)
    return found


def analyze(problem: Problem, view: CommunityView, reading: Reading, context: ThinkContext) -> Reports:
    """Report on the items of one reader; skip those without a valid reply."""
    reports: list[Report] = []
    skipped: list[str] = []
    for item in _items(view, reading):
        if reading.seconds is not None and context.state.spend.seconds > reading.seconds:
            skipped.append(f"{item.id}: not read, the round's time for reading is over")
            continue
        request = first_request(ANALYZE, "analyzer", context, problem=problem, item=item)
        try:
            reply = context.ask(request, Analysis).value
        except ReplyError as error:
            skipped.append(f"{item.id}: {error}")
            continue
        confidence = reply.confidence if item.reproduced else min(reply.confidence, _UNPROVEN)
        facts = item.model_dump(exclude={"id", "text"})
        rated = reply.model_dump() | {"confidence": confidence}
        reports.append(Report.model_validate({"item": item.id, **facts, **rated}))
    return Reports(reports=tuple(reports), skipped=tuple(skipped))


def _items(view: CommunityView, reading: Reading) -> list[Item]:
    notebooks = {each.ref: each for each in view.notebooks}
    discussions = {each.id: each for each in view.discussions}
    items = []
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
                )
            )
        elif each.item_type == "discussion" and each.id in discussions:
            thread = discussions[each.id]
            answers = [f"{c.author}: {c.body}" for c in thread.comments]
            text = "\n\n".join([f"{thread.author}: {thread.body}", *answers])[:_TEXT_KEPT]
            items.append(Item(id=each.id, item_type=each.item_type, title=thread.title, text=text))
    return [*items, *reading.solutions]


def _code_cells_first(source: str) -> str:
    """Move code cells before text cells, each kind in its order.

    Cells are in the percent format (`# %%`), in which notebooks are stored.
    """
    cells = _CELL.split(source)
    texts = [cell for cell in cells if cell.startswith(_TEXT_CELL)]
    codes = [cell for cell in cells if not cell.startswith(_TEXT_CELL)]
    return "\n".join(cell.strip("\n") for cell in [*codes, *texts] if cell.strip())


def _published(state: CampaignState) -> list[Attempt]:
    """Return attempts with a published solution, the latest first, and the baseline last."""
    published = [attempt for attempt in reversed(state.works.attempts()) if attempt.score is not None]
    return sorted(published, key=lambda attempt: attempt.work.is_baseline)


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
        reproduced=f"{attempt.id} itself: {attempt.result}",
    )
