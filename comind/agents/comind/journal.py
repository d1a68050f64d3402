"""Write the journal of a campaign: what was read, proposed and tried in each round."""

from collections.abc import Iterator

from comind.agents.comind.critic import Trial, trials
from comind.agents.comind.idea_proposer import memo_of
from comind.agents.comind.lessons import Lesson, all_lessons
from comind.agents.comind.memos import Idea
from comind.agents.comind.pool import (
    Pool,
    graph_with_ideas,
    ideas_by_thought,
    pool_of,
    results_of,
    rounds_of,
)
from comind.agents.comind.thoughts import ANALYZE, PREPARE, PROPOSE, Report, RoundDrafts
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work import Think
from comind.campaign.reports.campaign_journal import attempt_lines, plain, step_lines
from comind.community.provenance import NodeKind
from comind.domain.community import CommunityView
from comind.domain.draft import Draft

_ITEMS = (NodeKind.NOTEBOOK, NodeKind.DISCUSSION, NodeKind.DATASET)


def journal_of(state: CampaignState, view: CommunityView) -> str:
    """Return the journal as Markdown; untrusted text in it is truncated and escaped."""
    pool = pool_of(state)
    stages = _lines_by_thought(state, pool)
    readings = {each.id for each in state.works.thoughts(ANALYZE)}
    drafting = {each.id for each in rounds_of(state)}
    beside = {each.id for each in state.works.thoughts(PREPARE)}  # written beside attempts
    lines = [f"# {state.spec.id}", ""]
    number, reading, over = 0, False, False
    for record in state.works:
        if record.id not in stages:
            continue
        goes_on = reading and record.id in readings  # a round has several readers
        reading = record.id in readings
        if number == 0 or (over and record.id not in beside):
            number, over = number + 1, False
            lines += [f"## Round {number}", ""]
        if goes_on:
            lines.pop()
        lines += [*(stages[record.id][1:] if goes_on else stages[record.id]), ""]
        over = over or record.id in drafting
    lines += ["## Attempts", "", *attempt_lines(state), "", *step_lines(state)]
    lines += ["## Lessons", "", *(_lesson(each) for each in all_lessons(state)), ""]
    lines += ["## The critic", "", *_verdicts(state), ""]
    lines += ["## What came of the community", "", *_influence(state, view), ""]
    return "\n".join(lines)


def _lines_by_thought(state: CampaignState, pool: Pool) -> dict[str, list[str]]:
    ideas = {
        name: [_idea(each, pool, state) for each in found]
        for name, found in ideas_by_thought(state).items()
    }
    stages = {name: ["Ideas:", *lines] for name, lines in ideas.items()}
    facts = {each.id: each.facts for each in state.works.thoughts(ANALYZE)}
    for name, read in results_of(state, ANALYZE).items():
        why = {each.id: each.why for each in facts[name].sampled}
        found = (
            _report(each, why.get(each.item, "a solution of this campaign")) for each in read.reports
        )
        skipped = (f"- no report on {plain(each)}" for each in read.skipped)
        stages[name] = ["Read:", *found, *skipped, *ideas[name]]
    for name, proposed in results_of(state, PROPOSE).items():
        stages[name] += [f"- no such source: {plain(each)}" for each in proposed.unknown]
    for each in rounds_of(state):
        if each.result is not None:
            ideas_too = [*stages[each.id], ""] if each.result.ideas else []
            stages[each.id] = [*ideas_too, *_drafts(each.result)]
    for name, written in results_of(state, PREPARE).items():
        lines = len(written.preparation.splitlines())
        stages[name] = [
            f"A preparation for later drafts, of {lines} lines." if lines else "No preparation."
        ]
    for record in state.works:
        if isinstance(record.work, Think) and record.outcome is not None and record.outcome.failure:
            message = plain(record.outcome.failure.message)
            stages[record.id] = [f"{record.work.purpose} failed: {message}"]
    return stages


def _idea(idea: Idea, pool: Pool, state: CampaignState) -> str:
    uses = "; ".join(pool.uses_of(idea.id, state))
    origin = f", from {plain(', '.join(idea.sources))}" if idea.sources else ""
    tried = f" [{plain(uses)}]" if uses else ""
    return f"- {idea.id} ({idea.rated}{origin}): {plain(idea.text)}{tried}"


def _drafts(round_drafts: RoundDrafts) -> list[str]:
    drafts = [_draft(each) for each in round_drafts.drafts]
    missing = [f"- asked for, but not among them: {plain(each)}" for each in round_drafts.missing]
    unknown = [f"- no such source: {plain(each)}" for each in round_drafts.unknown]
    return ["Drafts:", *(drafts or [f"none, {plain(round_drafts.refused)}"]), *missing, *unknown]


def _draft(draft: Draft) -> str:
    return f"- {plain(draft.title)} ({plain(draft.strategy)}): {plain(draft.method)}"


def _report(report: Report, why: str) -> str:
    name = f"discussion {report.item}" if report.item_type == "discussion" else report.item
    if report.item_type != "notebook":
        name = f"{name}, {report.title}"
    weak = f" Weaknesses: {plain('; '.join(report.weaknesses))}" if report.weaknesses else ""
    return f"- {plain(name)} ({why}): {plain(report.summary)} ({memo_of(report).ratings}){weak}"


def _lesson(lesson: Lesson) -> str:
    how = "" if lesson.paired else ", from the two scores"
    parts = f"; {', '.join(lesson.parts)}" if lesson.parts else ""
    said = f". Its author: {plain(lesson.said)}" if lesson.said else ""
    gain = f"{lesson.gain:+.3g} (standard error {lesson.error:.2g}{how}; ran {lesson.seconds:.0f} s"
    changed = lesson.added or lesson.removed
    lines = f", lines: {lesson.added} added, {lesson.removed} removed" if changed else ""
    return (
        f"- {lesson.attempt} against {lesson.parent}: {lesson.verdict}, {gain}{plain(parts)}){lines}: "
        f"{plain(lesson.title)}{said}"
    )


def _verdicts(state: CampaignState) -> Iterator[str]:
    """Yield what the critic found in each program, and what came of its re-run."""
    for trial in trials(state):
        name, found = trial.finalist.id, trial.critique.findings
        yield f"- {name}: {_came_of(trial) if found else 'no fault was found'}"
        yield from (f"  - {each.fault}: {plain(each.line)}: {plain(each.why)}" for each in found)
        yield from (
            f"  - not in the program, so ignored: {plain(each)}" for each in trial.critique.dropped
        )


def _came_of(trial: Trial) -> str:
    """Return what the re-run without the faults says of them."""
    if trial.rerun is None:
        return "not run without it: " + (
            "there was no time" if trial.critique.corrected else "nothing could be removed"
        )
    run, gain = trial.rerun, trial.gain
    if run.outcome is None or gain is None:
        return f"{run.id} without it: {plain(run.result)}"
    scores = f"{run.id} without it: {plain(str(run.score))}, {gain.difference:+.3g}"
    if trial.condemned is not None:
        return f"rejected; {scores}, so the line does not help"
    if gain.difference < -gain.error:
        return f"kept; {scores}, so the line helps on rows whose labels it does not have"
    return f"kept; {scores}"


def _influence(state: CampaignState, view: CommunityView) -> Iterator[str]:
    """Yield the number of drafts and solutions that came from each community item, most first."""
    graph = graph_with_ideas(state, view)
    counted = []
    for node in graph:
        if node.kind in _ITEMS:
            kinds = [each.kind for each in graph.descendants(node.id)]
            found = (kinds.count(NodeKind.SOLUTION), kinds.count(NodeKind.DRAFT))
            counted.append((found, node))
    for (solutions, drafts), node in sorted(counted, key=lambda pair: pair[0], reverse=True):
        if drafts:
            yield f"- {node.kind} {plain(node.name)}: {drafts} drafts, {solutions} solutions"
    if not any(drafts for (_, drafts), _ in counted):
        yield "Nothing yet."
