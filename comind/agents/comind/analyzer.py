"""The Analyzer: community items and published solutions become rated reports (paper, section 4.2)."""

from pydantic import Field

from comind.agents.comind.parameters import CoMindParameters
from comind.agents.comind.pool import Pool
from comind.agents.comind.sampling import sample
from comind.agents.comind.thoughts import ANALYZE, Component, Item, Ratings, Reading, Report, Reports
from comind.campaign.plan import BASELINE_ROLE
from comind.campaign.state import CampaignState
from comind.campaign.workbench import Desk
from comind.campaign.works import Attempt
from comind.domain.community import CommunityView
from comind.domain.problem import Problem
from comind.domain.value import Text
from comind.errors import ReplyError
from comind.llm.base import Message
from comind.llm.exchange import Prompt
from comind.llm.templates import Templates

__all__ = ["Analysis", "analyze", "reading_of"]

_TEMPLATES = Templates("comind.agents.comind")
_TEXT_SHOWN = 6_000
_COMMENTS_SHOWN = 8
_UNPROVEN = 5  # the most confidence in what nobody has reproduced here


class Analysis(Ratings):
    """What the model says of one item."""

    summary: Text
    confidence: int = Field(ge=0, le=10)
    components: list[Component] = []
    ideas: list[str] = []


def reading_of(
    state: CampaignState,
    pool: Pool,
    view: CommunityView,
    parameters: CoMindParameters,
    *,
    seed: int,
    number: int,
) -> Reading | None:
    """Return what round `number` reads; None where there is nothing new."""
    read = {report.item for report in pool.reports}
    sampled = sample(view, read, parameters, seed=seed, number=number)
    unread = [a for a in _published(state) if a.id not in read]
    solutions = unread[: parameters.solutions_per_round]
    if not sampled and not solutions:
        return None
    return Reading(
        sampled=tuple(sampled),
        solutions=tuple(_solution(each) for each in solutions),
        reproduced={each.id: _reproduced(each.id, state) for each in sampled},
    )


def analyze(problem: Problem, view: CommunityView, reading: Reading, desk: Desk) -> Reports:
    """Read every item of the round; one that the model cannot report on is left out."""
    reports: list[Report] = []
    skipped: list[str] = []
    for item in _items(view, reading):
        prompt = Prompt(
            role=ANALYZE.role,
            messages=(
                Message(role="system", content=_TEMPLATES.render("analyzer_system")),
                Message(role="user", content=_TEMPLATES.render("analyzer", problem=problem, item=item)),
            ),
            max_tokens=1_500,
        )
        try:
            said = desk.ask(prompt, Analysis).value
        except ReplyError as error:
            skipped.append(f"{item.id}: {error}")
            continue
        confidence = said.confidence if item.reproduced else min(said.confidence, _UNPROVEN)
        facts = item.model_dump(exclude={"id", "text"})
        rated = said.model_dump() | {"confidence": confidence}
        reports.append(Report.model_validate({"item": item.id, **facts, **rated}))
    return Reports(reports=tuple(reports), skipped=tuple(skipped))


def _items(view: CommunityView, reading: Reading) -> list[Item]:
    """Return what a round reads, with its text, as the view and the work's facts have it."""
    notebooks = {each.ref: each for each in view.notebooks}
    discussions = {each.id: each for each in view.discussions}
    items = []
    for each in reading.sampled:
        if each.kind == "notebook" and each.id in notebooks:
            notebook = notebooks[each.id]
            claim = "" if notebook.public_score is None else f"public score {notebook.public_score:g}"
            items.append(
                Item(
                    id=each.id,
                    kind=each.kind,
                    title=notebook.title,
                    text=notebook.source[:_TEXT_SHOWN],
                    claim=claim,
                    reproduced=reading.reproduced.get(each.id, ""),
                )
            )
        elif each.kind == "discussion" and each.id in discussions:
            thread = discussions[each.id]
            answers = [f"{c.author}: {c.body}" for c in thread.comments[:_COMMENTS_SHOWN]]
            text = "\n\n".join([f"{thread.author}: {thread.body}", *answers])[:_TEXT_SHOWN]
            items.append(Item(id=each.id, kind=each.kind, title=thread.title, text=text))
    return [*items, *reading.solutions]


def _published(state: CampaignState) -> list[Attempt]:
    """Return attempts whose solution is published, the latest first; ours by its recipe last."""
    attempts = [
        a for a in state.works.attempts() if a.outcome is not None and a.outcome.score is not None
    ]
    attempts.reverse()
    return sorted(attempts, key=lambda a: a.work.role == BASELINE_ROLE)


def _solution(attempt: Attempt) -> Item:
    assert attempt.outcome is not None
    text = f"{attempt.work.draft.method}\n\n{attempt.outcome.report}\n\n{attempt.outcome.code}"
    return Item(
        id=attempt.id,
        kind="solution",
        title=attempt.work.draft.title,
        text=text[:_TEXT_SHOWN],
        reproduced=f"{attempt.id} itself: {attempt.result}",
    )


def _reproduced(item: str, state: CampaignState) -> str:
    """Return what attempts that start from an item have scored here."""
    attempts = (a for a in state.works.attempts() if item in a.work.draft.sources)
    return "; ".join(f"{a.id}: {a.outcome.score}" for a in attempts if a.outcome and a.outcome.score)
