"""Trace the lineage of a submission: community items, ideas and attempts, as values and as graphs."""

import contextlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from comind.adapters.dvc.restoring import find_campaign, restore_logs
from comind.adapters.git.refs import campaign_commit
from comind.campaign.agent import Agent
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work_items import Attempt
from comind.campaign.loop import read_state
from comind.community.provenance import Graph, Node, NodeKind, node_id
from comind.community.snapshot import SnapshotFolder
from comind.domain.community import CommunityView
from comind.domain.draft import Operator
from comind.errors import CampaignError, CommunityError, UsageError
from comind.following.history import submissions_of
from comind.wiring.agents import agent_class

_LABEL_LENGTH = 60
_HASH = 12


def lineage(project: Path, name: str) -> dict[str, Any]:
    """Return the ancestors of a submission, from the campaign's folder or its ref.

    `name` is a campaign, `CAMPAIGN/attempt-000`, or the id of an MLflow run. `nodes` are in topological
    order, parents first; the last one is the submission.

    Raises:
        CampaignError: there is no such campaign, run or attempt, or it has no submission.
        LogError: a log was changed.
    """
    campaign, attempt = _find(project, name)
    with _state(project, campaign) as (state, recorded):
        if attempt is None:
            delivered = state.delivered()
            if delivered is None:
                raise CampaignError(f"{campaign}: no attempt has a submission")
            attempt = delivered.id
        refits = _refits_of(state, attempt)
        names = [each.work.parents[0] for each in refits] or [attempt]
        view, missing = _view(project, state)
        graph = _graph(state, view, missing)
        roots = [node_id(NodeKind.SOLUTION, each) for each in names]
        if roots[-1] not in graph:
            raise CampaignError(f"{campaign}: {attempt} has no solution")
        found = {each.id: each for root in roots for each in (*graph.ancestors(root), graph[root])}
        nodes = [_node(each, state, view) for each in found.values()]
    nodes += map(_refit_node, refits)
    return {
        "campaign": campaign,
        "attempt": attempt,
        "competition": state.spec.competition,
        "agent": state.spec.agent,
        "model": state.spec.model,
        "dvc_rev": campaign_commit(project, campaign),
        "nodes": nodes,
        "recorded": recorded.get(attempt),
        "replies": sum(recorded[each]["replies"] for each in _attempts_in(nodes) if each in recorded),
        "missing": missing,
        "submissions": submissions_of(project, campaign),
    }


def _attempts_in(nodes: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the attempts among nodes, whose replies a submission was made from."""
    prefix = node_id(NodeKind.SOLUTION, "")
    return [each["id"].removeprefix(prefix) for each in nodes if each["id"].startswith(prefix)]


def _find(project: Path, name: str) -> tuple[str, str | None]:
    campaign, _, attempt = name.partition("/")
    if ProjectFolder(project).campaign(campaign).log.is_file() and campaign:
        return campaign, attempt or None
    for ids in ProjectFolder(project).runs.glob("*/runs.json"):
        for work, run_id in json.loads(ids.read_text()).items():
            if run_id == name:
                return ids.parent.name, None if work == ids.parent.name else work
    return find_campaign(project, name)


@contextlib.contextmanager
def _state(project: Path, campaign: str) -> Iterator[tuple[CampaignState, Mapping[str, Any]]]:
    """Yield a campaign's state and its attempts' lineage files, from its folder, else from its ref."""
    folder = ProjectFolder(project).campaign(campaign)
    with contextlib.ExitStack() as stack:
        if folder.log.is_file():
            state = read_state(folder)
        else:
            place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="comind-l-")))
            state = restore_logs(project, campaign, place)
            folder = ProjectFolder(place).campaign(campaign)
        files = folder.root.glob("*/lineage.json")
        yield state, {file.parent.name: json.loads(file.read_text()) for file in files}


def _refits_of(state: CampaignState, name: str) -> list[Attempt]:
    """Return a refit after those that it read; empty for any other attempt."""
    known = {each.id for each in state.works.rankable()}
    refits = {each.id: each for each in state.works.codes(Operator.REFIT)}
    if name not in known | refits.keys():
        raise CampaignError(
            f"{state.spec.id} has no attempt {name!r}", hint=f"it has {', '.join(sorted(known))}"
        )
    if name not in refits:
        return []
    found = dict[str, Attempt]()
    for read in refits[name].work.inputs:
        if read in refits:
            found |= {each.id: each for each in _refits_of(state, read)}
    return [*found.values(), refits[name]]


def _refit_node(refit: Attempt) -> dict[str, Any]:
    prefix = f"{Operator.REFIT.value}-"
    read = [each for each in refit.work.inputs if each.startswith(prefix)]
    return {
        "id": node_id(NodeKind.SOLUTION, refit.id),
        "kind": "refit",
        "title": f"refit of {refit.work.parents[0]} on all labelled rows",
        "parents": [node_id(NodeKind.SOLUTION, each) for each in (*refit.work.parents, *read)],
    }


def provenance_of(project: Path, state: CampaignState) -> tuple[Graph, list[str]]:
    """Return a campaign's provenance graph, and a line for each part of it that is missing."""
    view, missing = _view(project, state)
    return _graph(state, view, missing), missing


def item_summaries(state: CampaignState) -> Mapping[str, str]:
    """Return what the agent's models wrote about community items; nothing if it is not installed."""
    try:
        return agent_class(state.spec).summaries(state)
    except UsageError:
        return {}


def _graph(state: CampaignState, view: CommunityView, missing: list[str]) -> Graph:
    """Return the agent's graph, else the platform's, which has no ideas; add the reason to `missing`."""
    try:
        return agent_class(state.spec).graph(state, view)
    except UsageError as error:
        origin = state.spec.agent_origin or f"the agent {state.spec.agent}"
        missing.append(f"{error}, so the nodes of {origin} are missing")
        return Agent.graph(state, view)


def _view(project: Path, state: CampaignState) -> tuple[CommunityView, list[str]]:
    """Return the community's items of all snapshots, and a line for each snapshot that is missing."""
    view, missing = CommunityView(), []
    for read in state.communities:
        folder = SnapshotFolder(ProjectFolder(project).communities / read.key)
        try:
            view = folder.read().merged_with(view)
        except CommunityError:
            name = folder.root.relative_to(project)
            missing.append(f"{name} is missing, and so are its items (dvc pull restores it)")
    return view, missing


def _node(node: Node, state: CampaignState, view: CommunityView) -> dict[str, Any]:
    values: dict[str, Any] = {
        "id": node.id,
        "kind": node.kind.value,
        "title": node.title,
        "parents": list(node.parents),
    }
    if node.kind is NodeKind.SOLUTION:
        attempt = state.works.attempt(node.name)
        proved = state.proofs.get(node.name)
        if attempt.score is not None:
            values["score"] = attempt.score.value.value
            values["metric"] = attempt.score.metric
        if attempt.submitted is not None:
            values["submission_sha256"] = attempt.submitted.test_sha256
        values["script"] = proved.proof if proved else "unproved"
    elif node.kind is NodeKind.DRAFT:
        values["operator"] = state.works.attempt(node.name).work.operator.value
    elif node.kind is NodeKind.NOTEBOOK:
        found = next((each for each in view.all_notebooks if each.ref == node.name), None)
        if found is not None:
            values |= {"votes": found.votes, "score": found.public_score}
    return values


def as_tree(values: Mapping[str, Any]) -> str:
    """Format the lineage as an indented tree, the submission on top; a node's parents appear once."""
    nodes = {node["id"]: node for node in values["nodes"]}
    seen: set[str] = set()

    def lines(node_id: str, indent: str) -> Iterator[str]:
        parents = [parent for parent in nodes[node_id]["parents"] if parent in nodes]
        for number, parent in enumerate(parents):
            last = number == len(parents) - 1
            again = parent in seen
            more = " (above)" if again and nodes[parent]["parents"] else ""
            yield f"{indent}{'└─ ' if last else '├─ '}{_label(nodes[parent])}{more}"
            if not again:
                seen.add(parent)
                yield from lines(parent, indent + ("   " if last else "│  "))

    root = values["nodes"][-1]
    return "\n".join([_label(root), *lines(root["id"], "")]) + "\n"


def as_mermaid(values: Mapping[str, Any]) -> str:
    """Format the lineage as a Mermaid graph."""
    lines = _graph_lines(values, '{}["{}"]', "{} --> {}")
    return "\n".join(["graph TD", *lines]) + "\n"


def as_dot(values: Mapping[str, Any]) -> str:
    """Format the lineage as a Graphviz graph."""
    lines = _graph_lines(values, '{} [label="{}"];', "{} -> {};")
    return "\n".join(["digraph lineage {", "  node [shape=box];", *lines, "}"]) + "\n"


def _graph_lines(values: Mapping[str, Any], node: str, edge: str) -> Iterator[str]:
    """Yield a line for each node, then one for each edge, by format strings of a graph language."""
    numbers = {each["id"]: f"n{number}" for number, each in enumerate(values["nodes"])}
    for each in values["nodes"]:
        yield "  " + node.format(numbers[each["id"]], _quoted(_label(each)))
    for each in values["nodes"]:
        for parent in (name for name in each["parents"] if name in numbers):
            yield "  " + edge.format(numbers[parent], numbers[each["id"]])


def _label(node: Mapping[str, Any]) -> str:
    title = node["title"]
    short = title if len(title) <= _LABEL_LENGTH else f"{title[: _LABEL_LENGTH - 1]}…"
    facts = []
    if node.get("score") is not None:
        facts.append(f"{node.get('metric', 'public score')} {node['score']:.5g}")
    if node.get("votes"):
        facts.append(f"{node['votes']} votes")
    if "submission_sha256" in node:
        facts.append(f"submission {node['submission_sha256'][:_HASH]}, script {node['script']}")
    more = f"  [{'; '.join(facts)}]" if facts else ""
    name = node["id"].partition(":")[2]
    return f"{node['kind']} {name}: {short}{more}"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', "'").replace("\n", " ")
