"""The Analyzer: community items and published solutions become rated reports (paper, section 4.2)."""

from pydantic import BaseModel, Field, JsonValue, TypeAdapter

from comind.agents.comind.pool import ANALYZE, Component, Pool, Ratings, Report, result_of
from comind.agents.comind.sampling import Sampled, sample
from comind.campaign.outcome import Finding
from comind.campaign.plan import BASELINE_ROLE, Think
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

__all__ = ["Analysis", "analysis_of", "analyze"]

_TEMPLATES = Templates("comind.agents.comind")
_SAMPLED = TypeAdapter(list[Sampled])
_SOLUTIONS_A_ROUND = 4
_TEXT_SHOWN = 6_000
_COMMENTS_SHOWN = 8
_UNPROVEN = 5  # the most confidence in what nobody has reproduced here


class Analysis(Ratings):
    """What the model says of one item."""

    summary: Text
    confidence: int = Field(ge=0, le=10)
    components: list[Component] = []
    ideas: list[str] = []


class _Item(BaseModel):
    """One thing to read."""

    id: str
    kind: str
    title: str
    text: str
    claim: str = ""
    reproduced: str = ""


def analysis_of(
    state: CampaignState, pool: Pool, view: CommunityView, *, seed: int, number: int
) -> Think | None:
    """Return the reading of round `number`; None where there is nothing new to read."""
    read = {report.item for report in pool.reports}
    sampled = sample(view, read, seed=seed, number=number)
    solutions = [a for a in _published(state) if a.id not in read][:_SOLUTIONS_A_ROUND]
    if not sampled and not solutions:
        return None
    facts: dict[str, JsonValue] = {
        "sampled": [each.model_dump(mode="json") for each in sampled],
        "solutions": [_solution(each) for each in solutions],
        "reproduced": {each.id: _reproduced(each.id, state) for each in sampled},
    }
    return Think(purpose=ANALYZE, facts=facts)


def analyze(problem: Problem, view: CommunityView, work: Think, desk: Desk) -> Finding:
    """Read every item of the round; one that the model cannot report on is left out."""
    reports: list[JsonValue] = []
    skipped: list[JsonValue] = []
    for item in _items(view, work):
        prompt = Prompt(
            role=ANALYZE,
            messages=(
                Message(role="system", content=_TEMPLATES.render("analyzer_system")),
                Message(role="user", content=_TEMPLATES.render("analyzer", problem=problem, item=item)),
            ),
            facts={"item": item.id},
            max_tokens=1_500,
        )
        try:
            said = desk.ask(prompt, Analysis).value
        except ReplyError as error:
            skipped.append(f"{item.id}: {error}")
            continue
        confidence = said.confidence if item.reproduced else min(said.confidence, _UNPROVEN)
        report = Report(
            **said.model_dump(exclude={"confidence"}),
            item=item.id,
            kind=item.kind,
            title=item.title,
            claim=item.claim,
            reproduced=item.reproduced,
            confidence=confidence,
        )
        reports.append(report.model_dump(mode="json"))
    return Finding(result={"reports": reports, "skipped": skipped})


def _items(view: CommunityView, work: Think) -> list[_Item]:
    """Return what a round reads, with its text, as the view and the work's facts have it."""
    notebooks = {each.ref: each for each in view.notebooks}
    discussions = {each.id: each for each in view.discussions}
    reproduced = work.facts["reproduced"]
    assert isinstance(reproduced, dict)
    items = []
    for each in _SAMPLED.validate_python(work.facts["sampled"]):
        proof = str(reproduced.get(each.id, ""))
        if each.kind == "notebook" and each.id in notebooks:
            notebook = notebooks[each.id]
            claim = "" if notebook.public_score is None else f"public score {notebook.public_score:g}"
            text = notebook.source[:_TEXT_SHOWN]
            items.append(
                _Item(
                    id=each.id,
                    kind=each.kind,
                    title=notebook.title,
                    text=text,
                    claim=claim,
                    reproduced=proof,
                )
            )
        elif each.kind == "discussion" and each.id in discussions:
            thread = discussions[each.id]
            answers = [f"{c.author}: {c.body}" for c in thread.comments[:_COMMENTS_SHOWN]]
            text = "\n\n".join([f"{thread.author}: {thread.body}", *answers])[:_TEXT_SHOWN]
            items.append(_Item(id=each.id, kind=each.kind, title=thread.title, text=text))
    solutions = work.facts["solutions"]
    assert isinstance(solutions, list)
    return items + [_Item.model_validate(each) for each in solutions]


def _published(state: CampaignState) -> list[Attempt]:
    """Return attempts whose solution is published, the latest first; ours by its recipe last."""
    attempts = [
        a for a in state.works.attempts() if a.outcome is not None and a.outcome.score is not None
    ]
    attempts.reverse()
    return sorted(attempts, key=lambda a: a.work.role == BASELINE_ROLE)


def _solution(attempt: Attempt) -> dict[str, JsonValue]:
    assert attempt.outcome is not None
    text = f"{attempt.work.draft.method}\n\n{attempt.outcome.report}\n\n{attempt.outcome.code}"
    return {
        "id": attempt.id,
        "kind": "solution",
        "title": attempt.work.draft.title,
        "text": text[:_TEXT_SHOWN],
        "claim": "",
        "reproduced": f"{attempt.id} itself: {result_of(attempt)}",
    }


def _reproduced(item: str, state: CampaignState) -> str:
    """Return what attempts that start from an item have scored here."""
    attempts = (a for a in state.works.attempts() if item in a.work.draft.sources)
    return "; ".join(f"{a.id}: {a.outcome.score}" for a in attempts if a.outcome and a.outcome.score)
