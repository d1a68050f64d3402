"""The journal of a campaign: what was read and why, what came of it, in the order of the rounds."""

from collections.abc import Iterator

from comind.agents.comind.lineage import graph_of_campaign
from comind.agents.comind.pool import ANALYZE, COORDINATE, PROPOSE, Pool, Report, pool_of, result_of
from comind.campaign.state import CampaignState
from comind.campaign.works import WorkRecord
from comind.community.graph import NodeKind
from comind.domain.community import CommunityView

__all__ = ["journal_of"]

_LENGTH = 300
_ITEMS = (NodeKind.NOTEBOOK, NodeKind.DISCUSSION, NodeKind.DATASET)


def journal_of(state: CampaignState, view: CommunityView) -> str:
    """Return the journal as Markdown; what strangers wrote in it is cut and made plain."""
    pool = pool_of(state)
    lines = [f"# {state.spec.id}", ""]
    number = 0
    for record in state.works:
        if record.work.kind != "think" or record.outcome is None or record.outcome.kind != "think":
            continue
        if number == 0 or record.work.purpose == ANALYZE:
            number += record.work.purpose == ANALYZE or number == 0
            lines += [f"## Round {number}", ""]
        lines += [*_stage(record, pool, state), ""]
    lines += ["## Attempts", ""]
    for attempt in state.works.attempts():
        draft = attempt.work.draft
        sources = f", from {_plain(', '.join(draft.sources))}" if draft.sources else ""
        kind = f" ({draft.kind})" if draft.kind else ""
        lines.append(
            f"- {attempt.id}{kind}: {_plain(draft.title)}{sources}: {_plain(result_of(attempt))}"
        )
    lines += ["", "## What came of the community", "", *_influence(state, view), ""]
    return "\n".join(lines)


def _stage(record: WorkRecord, pool: Pool, state: CampaignState) -> Iterator[str]:
    assert record.work.kind == "think"
    assert record.outcome is not None
    assert record.outcome.kind == "think"
    facts, result = record.work.facts, record.outcome.result
    if record.outcome.failure is not None:
        yield f"{record.work.purpose} failed: {_plain(record.outcome.failure.message)}"
        return
    match record.work.purpose:
        case purpose if purpose == ANALYZE:
            yield "Read:"
            sampled, reports = facts.get("sampled", []), result.get("reports", [])
            assert isinstance(sampled, list)
            assert isinstance(reports, list)
            why = {str(each["id"]): str(each["why"]) for each in sampled if isinstance(each, dict)}
            for found in reports:
                report = Report.model_validate(found)
                yield _report(report, why.get(report.item, "a solution of this campaign"))
            skipped = result.get("skipped", [])
            assert isinstance(skipped, list)
            yield from (f"- no report on {_plain(str(each))}" for each in skipped)
        case purpose if purpose == PROPOSE:
            yield "Ideas:"
            for idea in pool.ideas:
                if idea.id in _ids(result.get("ideas", [])):
                    uses = "; ".join(pool.uses_of(idea.id, state))
                    origin = f", from {_plain(', '.join(idea.sources))}" if idea.sources else ""
                    tried = f" [{_plain(uses)}]" if uses else ""
                    yield f"- {idea.id} (value {idea.value}{origin}): {_plain(idea.text)}{tried}"
        case purpose if purpose == COORDINATE:
            drafts = result.get("drafts", [])
            yield f"Drafts: {len(drafts) if isinstance(drafts, list) else 0}"


def _report(report: Report, why: str) -> str:
    rated = (
        f"novelty {report.novelty}, feasibility {report.feasibility}, effectiveness "
        f"{report.effectiveness}, efficiency {report.efficiency}, confidence {report.confidence}"
    )
    return f"- {_plain(report.item)} ({why}): {_plain(report.summary)} ({rated})"


def _influence(state: CampaignState, view: CommunityView) -> Iterator[str]:
    """Say for each community item how many drafts and solutions came from it, the most first."""
    graph = graph_of_campaign(state, view)
    counted = []
    for node in graph:
        if node.kind in _ITEMS:
            kinds = [each.kind for each in graph.influence(node.id)]
            found = (kinds.count(NodeKind.SOLUTION), kinds.count(NodeKind.DRAFT))
            counted.append((found, node))
    for (solutions, drafts), node in sorted(counted, key=lambda pair: pair[0], reverse=True):
        if drafts:
            yield f"- {node.kind} {_plain(node.name)}: {drafts} drafts, {solutions} solutions"
    if not any(drafts for (_, drafts), _ in counted):
        yield "Nothing yet."


def _ids(found: object) -> set[str]:
    return (
        {str(each["id"]) for each in found if isinstance(each, dict)}
        if isinstance(found, list)
        else set()
    )


def _plain(text: str) -> str:
    """Return text as one short line that no Markdown reader takes for markup."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    for mark in "\\`*_<>[]|#!":
        line = line.replace(mark, f"\\{mark}")
    return line[:_LENGTH] + (" ..." if len(line) > _LENGTH else "")
