"""Folders of campaigns for the tests of their page, written through the event logs."""

import itertools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from comind.campaign.log.campaign_events import (
    CampaignEnded,
    CampaignEvent,
    FinalPicked,
    WorkFinished,
    WorkPlanned,
)
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.campaign_state import CAMPAIGN_LOG
from comind.campaign.log.messages import MessageStore
from comind.campaign.log.outcome import CodeOutcome, Failure, FailureCause, Submitted, ThinkOutcome
from comind.campaign.log.work import Code, Think
from comind.campaign.log.work_events import (
    WORK_EVENTS,
    CallAnswered,
    CallSent,
    CellEnded,
    CellStarted,
    Graded,
    RequestFailed,
    WorkEnded,
    WorkEvent,
)
from comind.campaign.log.work_items import WorkRecord
from comind.campaign.loop import Campaign
from comind.campaign.reports.campaign_graph import graph_of_campaign
from comind.campaign.reports.page.campaign_page import campaign_page
from comind.community.provenance import Node, NodeKind
from comind.domain.community import CommunityView
from comind.domain.draft import Draft, Operator
from comind.domain.metric import Interval, MetricValue, ValidationScore
from comind.domain.spend import Spend, WorkBudget
from comind.domain.value import Payload
from comind.eventlog.log import EventLog
from comind.grading.grader_port import GradeReport
from comind.llm.model_ports import Message, ModelReply, Usage
from comind.session.session_ports import CellResult, CellStatus
from tests.unit.agents.community import discussion, notebook
from tests.unit.campaign.samples import opened, split_made

__all__ = ["page_of", "write_campaign"]

_MEMORY = Path("/dev/shm")

Texts = Callable[[str], str]
"""Text for a place of the page, by the place's name."""


def write_campaign(
    root: Path, *, attempts: int = 4, steps: int = 2, text: Texts = str, ended: bool = True
) -> CampaignFolder:
    """Write a campaign of a thought and of attempts; the second attempt fails.

    Every text that a model, its code or the community writes comes from `text`.
    """
    clock = itertools.count(step=30.0)
    with TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as staged:
        folder = CampaignFolder(Path(staged) / root.name)
        with Campaign(folder, now=lambda: float(next(clock))) as campaign:
            for event in _events(folder, attempts, steps, text):
                campaign.record(event)
            if ended:
                reason = text("reason")
                campaign.record(FinalPicked(work_id="attempt-000", reason=reason, leaderboard=()))
                campaign.record(CampaignEnded(reason="done", detail=text("end")))
        shutil.copytree(folder.root, root)
    return CampaignFolder(root)


def page_of(folder: CampaignFolder, text: Texts = str, **limits: int) -> str:
    """Return the page of such a campaign, with a community and an idea of the thought."""
    view = CommunityView(
        notebooks=(notebook("ben/forest", title=text("notebook")), notebook("cy/unused")),
        discussions=(discussion("7", title=text("discussion")),),
    )

    def ideas(record: WorkRecord) -> Iterator[Node]:
        if isinstance(record.work, Think):
            yield Node(
                kind=NodeKind.IDEA, name="idea-000", title=text("idea"), parents=("ben/forest", "7")
            )

    state = CAMPAIGN_LOG.read(folder.log)
    return campaign_page(folder, graph_of_campaign(state, view, ideas), **limits)


def _events(folder: CampaignFolder, attempts: int, steps: int, text: Texts) -> Iterator[CampaignEvent]:
    origin = text("origin")
    yield opened(agent_origin=origin, model=text("model"), iterations=attempts, steps=steps)
    yield split_made(rule=text("rule"), warnings=(text("warning"),))
    yield WorkPlanned(id="think-000", work=Think(purpose=text("purpose")))
    _write_log(folder, "think-000", _conversation(folder, "think-000", text, 1))
    result = Payload({"ideas": [{"id": "idea-000", "text": text("idea") + " in full"}]})
    yield WorkFinished(id="think-000", outcome=ThinkOutcome(result=result))
    for number in range(attempts):
        name = f"attempt-{number:03d}"
        yield WorkPlanned(id=name, work=_work(number, text))
        outcome = _outcome(name, number, steps, text)
        events = _conversation(folder, name, text, steps, outcome)
        _write_log(folder, name, [*events, WorkEnded(outcome=outcome)])
        if outcome.submitted is not None:
            script = folder.work(name).script()
            script.write_text(outcome.code, encoding="utf-8", errors="replace")
        yield WorkFinished(id=name, outcome=outcome)


def _work(number: int, text: Texts) -> Code:
    """Return an attempt; from the third on it improves the first."""
    draft = Draft(
        title=" ".join(text(f"title {number}").split())[:200] or "title",
        method=text(f"method {number}"),
        strategy=text("strategy"),
        sources=("idea-000", text("source")) if number % 2 == 0 else ("ben/forest",),
    )
    child = number > 1
    return Code(
        operator=Operator.IMPROVE if child else Operator.DRAFT,
        draft=draft,
        parents=("attempt-000",) if child else (),
        budget=WorkBudget(seconds=600, steps=2, cell_seconds=60),
    )


def _outcome(name: str, number: int, steps: int, text: Texts) -> CodeOutcome:
    spend = Spend(prompt_tokens=1000, completion_tokens=100, usd=0.01, seconds=20.0)
    if number == 1:
        failure = Failure(cause=FailureCause.CODE, message=text("failure"))
        return CodeOutcome(failure=failure, steps=steps, spend=spend)
    return CodeOutcome(
        score=_score(0.7 + number / 1000),
        submitted=Submitted(step=steps, validation_sha256="a" * 64, test_sha256="b" * 64),
        code=f"import this\n# {text('script')}\nprint({name!r})\n",
        steps=steps,
        report=text(f"report {number}"),
        spend=spend,
    )


def _conversation(
    folder: CampaignFolder, name: str, text: Texts, steps: int, outcome: CodeOutcome | None = None
) -> list[WorkEvent]:
    """Return the events of a growing conversation; with an outcome, a cell after each reply."""
    store = MessageStore(folder.work(name).messages)
    said = [Message(role="system", content=text("system prompt"))]
    events: list[WorkEvent] = []
    usage = Usage(prompt_tokens=1000, completion_tokens=100, usd=0.005)
    for step in range(1, steps + 1):
        said.append(Message(role="user", content=text(f"prompt {name} {step}")))
        reply = ModelReply(
            text=text(f"reply {name} {step}"), form="text", model="m", usage=usage, seconds=1.5
        )
        events += [
            CallSent(
                ordinal=2 * step,
                fingerprint="f" * 64,
                role=text("role"),
                model=text("model"),
                bound=usage,
                messages=store.keep(said),
            ),
            *([RequestFailed(message=text("busy"), booked=Usage())] if step == 1 else []),
            CallAnswered(ordinal=2 * step, reply=reply),
        ]
        said.append(Message(role="assistant", content=reply.text))
        if outcome is not None:
            events += _cell(name, step, text, outcome if step == steps else None)
    return events


def _cell(name: str, step: int, text: Texts, outcome: CodeOutcome | None) -> Iterator[WorkEvent]:
    """Yield a cell; with a scored outcome it submits that, else it raises an error."""
    code, goal = text(f"code {name} {step}"), text(f"goal {step}")
    yield CellStarted(ordinal=2 * step + 1, step=step, goal=goal, code=code)
    submitted = outcome.submitted if outcome is not None else None
    error = (
        f"Traceback (most recent call last)\nValueError: {text('error')}" if submitted is None else ""
    )
    result = CellResult(
        status=CellStatus.ERROR if error else CellStatus.OK,
        output=text(f"output {name} {step}"),
        error=error,
        seconds=2.0,
    )
    refused = "" if submitted is not None else text("refused")
    yield CellEnded(ordinal=2 * step + 1, result=result, submitted=submitted, refused=refused)
    if outcome is not None and submitted is not None:
        report = GradeReport(valid=True, score=outcome.score, message=text("note"))
        yield Graded(ordinal=2 * step + 2, submitted=submitted, report=report)


def _score(value: float) -> ValidationScore:
    return ValidationScore(
        metric="accuracy",
        value=MetricValue(value=value, maximize=True),
        interval=Interval(low=value - 0.05, high=value + 0.05),
        rows=100,
    )


def _write_log(folder: CampaignFolder, name: str, events: list[WorkEvent]) -> None:
    with EventLog(folder.work(name).log, WORK_EVENTS) as log:
        for event in events:
            log.append(event)
