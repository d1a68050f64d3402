"""The journal of a campaign: what was read and why, what came of it, in the order of the rounds."""

from collections.abc import Iterator

from comind.agents.comind.lineage import graph_with_ideas
from comind.agents.comind.pool import Pool, pool_of
from comind.agents.comind.thoughts import ANALYZE, COORDINATE, PROPOSE, Idea, Report
from comind.campaign.journal import attempt_lines, plain
from comind.campaign.plan import Think
from comind.campaign.state import CampaignState
from comind.community.graph import NodeKind
from comind.domain.community import CommunityView

__all__ = ["journal_of"]

_ITEMS = (NodeKind.NOTEBOOK, NodeKind.DISCUSSION, NodeKind.DATASET)


def journal_of(state: CampaignState, view: CommunityView) -> str:
    """Return the journal as Markdown; what strangers wrote in it is cut and made plain."""
    pool = pool_of(state)
    stages = _stages(state, pool)
    lines = [f"# {state.spec.id}", ""]
    number = 0
    for record in state.works:
        if record.id not in stages:
            continue
        opens = record.id in {each.id for each in state.works.thoughts(ANALYZE)}
        if number == 0 or opens:
            number += 1
            lines += [f"## Round {number}", ""]
        lines += [*stages[record.id], ""]
    lines += ["## Attempts", "", *attempt_lines(state)]
    lines += ["", "## What came of the community", "", *_influence(state, view), ""]
    return "\n".join(lines)


def _stages(state: CampaignState, pool: Pool) -> dict[str, list[str]]:
    """Return what came of each finished thought, by its id."""
    works, stages = state.works, {}
    for read in works.thoughts(ANALYZE):
        if read.result is not None:
            why = {each.id: each.why for each in read.facts.sampled}
            found = [
                _report(report, why.get(report.item, "a solution of this campaign"))
                for report in read.result.reports
            ]
            stages[read.id] = [
                "Read:",
                *found,
                *(f"- no report on {plain(s)}" for s in read.result.skipped),
            ]
    for proposed in works.thoughts(PROPOSE):
        if proposed.result is not None:
            stages[proposed.id] = [
                "Ideas:",
                *(_idea(each, pool, state) for each in proposed.result.ideas),
            ]
    for drafted in works.thoughts(COORDINATE):
        if drafted.result is not None:
            stages[drafted.id] = [f"Drafts: {len(drafted.result.drafts)}"]
    for record in works:
        if isinstance(record.work, Think) and record.outcome is not None and record.outcome.failure:
            stages[record.id] = [
                f"{record.work.purpose} failed: {plain(record.outcome.failure.message)}"
            ]
    return stages


def _idea(idea: Idea, pool: Pool, state: CampaignState) -> str:
    uses = "; ".join(pool.uses_of(idea.id, state))
    origin = f", from {plain(', '.join(idea.sources))}" if idea.sources else ""
    tried = f" [{plain(uses)}]" if uses else ""
    return f"- {idea.id} (value {idea.value}{origin}): {plain(idea.text)}{tried}"


def _report(report: Report, why: str) -> str:
    rated = (
        f"novelty {report.novelty}, feasibility {report.feasibility}, effectiveness "
        f"{report.effectiveness}, efficiency {report.efficiency}, confidence {report.confidence}"
    )
    return f"- {plain(report.item)} ({why}): {plain(report.summary)} ({rated})"


def _influence(state: CampaignState, view: CommunityView) -> Iterator[str]:
    """Say for each community item how many drafts and solutions came from it, the most first."""
    graph = graph_with_ideas(state, view)
    counted = []
    for node in graph:
        if node.kind in _ITEMS:
            kinds = [each.kind for each in graph.influence(node.id)]
            found = (kinds.count(NodeKind.SOLUTION), kinds.count(NodeKind.DRAFT))
            counted.append((found, node))
    for (solutions, drafts), node in sorted(counted, key=lambda pair: pair[0], reverse=True):
        if drafts:
            yield f"- {node.kind} {plain(node.name)}: {drafts} drafts, {solutions} solutions"
    if not any(drafts for (_, drafts), _ in counted):
        yield "Nothing yet."
