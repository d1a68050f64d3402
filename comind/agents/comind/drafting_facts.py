"""Collect the facts of a round's drafting from the campaign's state."""

from comind.agents.comind.draft_kinds import as_earlier
from comind.agents.comind.draft_replies import CODE_KEPT, TITLE_LENGTH
from comind.agents.comind.ensembles import comparison_table, correlation_limit
from comind.agents.comind.idea_proposer import best_ideas, best_reports
from comind.agents.comind.memos import IdeaMemo
from comind.agents.comind.parameters import CoMindParameters
from comind.agents.comind.pool import (
    Pool,
    complements,
    graph_with_ideas,
    latest_preparation,
    lineage_of,
    ratings_in_words,
    rounds_since_news,
)
from comind.agents.comind.sampling import notebooks_to_start_from, sample_datasets
from comind.agents.comind.search_phase import (
    asked_drafts,
    attempt_budget,
    leaders,
    phase_of,
    ranked_starts,
)
from comind.agents.comind.thoughts import Drafting, Earlier, StartingPoint, Tried
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.solutions_read import inputs_read
from comind.campaign.log.work_items import Attempt
from comind.community.provenance import Graph, NodeKind
from comind.domain.community import CommunityView

_SOLUTIONS_KEPT, _TRIED_KEPT = 8, 40  # the context window may allow for fewer
_TEXT_SHOWN, _IDEAS_KEPT, _EXTENDED = 300, 80, 3
_REPORT_KEPT, _RAN_KEPT = 5_000, 2_000  # characters
_SHORT_PROGRAM = 3_000  # characters of the platform's baseline that prompts show


def drafting_facts(
    state: CampaignState,
    pool: Pool,
    view: CommunityView,
    refused: str = "",
    *,
    settings: CoMindParameters,
    opening: bool = False,
) -> Drafting:
    """Return the facts of a round's drafting: ideas, reports, starting points, earlier attempts.

    With `opening` the reply has the new ideas, and the known ones are those of all rounds, if there is
    a memory; else they are those that the round has selected.
    """
    attempts, table = state.works.attempts(), comparison_table(state)
    shown = pool if settings.idea_memory else pool.of_latest_round()
    phase, graph = phase_of(state, _with_drafts(state)), graph_with_ideas(state, view)
    starts, alike = _starting_points(state, pool), correlation_limit(table)
    extend = [each.attempt.id for each in ranked_starts(state) if each.attempt.id in starts][:_EXTENDED]
    best = [name for name in leaders(state) if name in starts]
    return Drafting(
        wanted=state.spec.coders,
        ideas=_ideas(state, pool, settings, opening=opening),
        solutions=tuple(starts.values()),
        best=state.best.work_id if state.best else "",
        tried=tuple(_tried(each) for each in attempts[-_TRIED_KEPT:]),
        titles=tuple(dict.fromkeys(t for a in attempts for t in (a.work.draft.title, a.title))),
        notebooks=notebooks_to_start_from(state, pool, view),
        datasets=sample_datasets(state, pool, view, settings.datasets_per_round),
        finished=sum(a.outcome is not None for a in attempts),
        reports=best_reports(state, pool),
        minutes=round(attempt_budget(state, phase).seconds / 60, 1),
        refused=refused,
        complements=complements(state, graph, shown, extend) if settings.graph else (),
        preparation=latest_preparation(state) if prepares(state, settings) else None,
        folds=state.split.folds if state.split else 0,
        compared=table,
        alike=alike,
        kinds=state.spec.node_kinds if state.spec.pool else (),
        known=len(pool.ideas),
        phase=phase,
        asked=tuple(asked_drafts(phase, extend, best, combines=alike is not None)),
        extend=tuple(extend),
        lineage=_lineage(graph, state),
        baseline=next((each.id for each in attempts if each.work.is_attempt_0), ""),
        earlier=tuple(_earlier(each) for each in attempts if not each.work.is_attempt_0),
        feasibility=_feasibility(pool),
    )


def prepares(state: CampaignState, settings: CoMindParameters) -> bool:
    """Whether fresh drafts may begin with a preparation."""
    return settings.preparation and not state.submits_programs


def _ideas(
    state: CampaignState, pool: Pool, settings: CoMindParameters, *, opening: bool
) -> tuple[IdeaMemo, ...]:
    """Return the ideas of the latest round; for a round in one call the best of all."""
    if opening:
        return best_ideas(state, pool) if settings.idea_memory else ()
    return tuple(IdeaMemo.of(idea) for idea in pool.ideas if idea.id in pool.latest)[-_IDEAS_KEPT:]


def _with_drafts(state: CampaignState) -> int:
    return sum(bool(each.result and each.result.drafts) for each in rounds_since_news(state))


def _starting_points(state: CampaignState, pool: Pool) -> dict[str, StartingPoint]:
    """Return the best solutions by id, the best first."""
    gains = {start.attempt.id: str(start) for start in ranked_starts(state)}
    reports = {report.item: report for report in pool.reports}
    found = {}
    for a in state.works.best_first()[:_SOLUTIONS_KEPT]:
        if a.outcome is not None and len(a.outcome.code) <= CODE_KEPT:
            report = reports.get(a.id)
            found[a.id] = StartingPoint(
                id=a.id,
                title=a.title,
                result=a.result,
                code=a.outcome.code,
                seconds=a.outcome.code_seconds,
                report=a.outcome.report[:_REPORT_KEPT],
                inputs=inputs_read(a.work, a.outcome.code),
                gain="" if a.work.is_attempt_0 else gains.get(a.id, ""),
                ratings=ratings_in_words(report)[:_TEXT_SHOWN] if report else "",
                ran=_ran(a) if _is_generic(a, state) else "",
            )
    return found


def _is_generic(attempt: Attempt, state: CampaignState) -> bool:
    """Whether its program is the long one of a recipe for tables, most of which is about other data."""
    code = attempt.outcome.code if attempt.outcome else ""
    return attempt.work.is_attempt_0 and not state.submits_programs and len(code) > _SHORT_PROGRAM


def _ran(attempt: Attempt) -> str:
    """Return what ran of the platform's baseline: its method, its steps, and what the last printed."""
    assert attempt.outcome is not None
    cells = [f"- {cell.goal} ({cell.result})" for cell in attempt.outcome.cells]
    printed = [cell.output.strip() for cell in attempt.outcome.cells if cell.output.strip()][-1:]
    lines = [attempt.outcome.report or attempt.work.draft.method, *cells, *printed]
    return "\n".join(lines)[-_RAN_KEPT:]


def _earlier(attempt: Attempt) -> Earlier:
    ended = attempt.outcome is not None
    return as_earlier(attempt.work.draft, attempt.title, scored=not ended or attempt.score is not None)


def _lineage(graph: Graph, state: CampaignState) -> tuple[str, ...]:
    """Return the best solution, and the solutions and notebooks that it came from."""
    if state.best is None:
        return ()
    kinds = (NodeKind.SOLUTION, NodeKind.NOTEBOOK)
    inside = lineage_of(graph, state.best.work_id)
    found = [node.name for node in graph if node.id in inside and node.kind in kinds]
    return tuple(dict.fromkeys([state.best.work_id, *found]))


def _feasibility(pool: Pool) -> dict[str, int]:
    """Return the feasibility of reported items, and of ideas: their own, else the lowest of sources."""
    items = {report.item: report.feasibility for report in pool.reports}
    found = dict(items)
    for idea in pool.ideas:
        known = [items[source] for source in idea.sources if source in items]
        if idea.feasibility is not None or known:
            found[idea.id] = min(known) if idea.feasibility is None else idea.feasibility
    return found


def _tried(attempt: Attempt) -> Tried:
    """Return an attempt in short: its score or failure, or its method while it is running."""
    return Tried(
        title=attempt.title[:TITLE_LENGTH],
        result=" ".join(attempt.result.split())[:_TEXT_SHOWN],
        method="" if attempt.outcome else " ".join(attempt.work.draft.method.split())[:_TEXT_SHOWN],
    )
