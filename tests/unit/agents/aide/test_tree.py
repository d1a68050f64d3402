"""The search policy: AIDE's plan is a pure function of the tree, within its limits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.agents.aide import Aide
from comind.campaign.log.outcome import CodeOutcome
from comind.campaign.log.work import Code, Done, Wait
from comind.domain.community import CommunityView
from comind.domain.draft import Operator
from tests.unit.agents.aide.trees import Tree, buggy, good, wordless
from tests.unit.agents.community import VIEW, notebook

_ENDS = st.sampled_from(["good", "good", "buggy", "buggy", "wordless"])


def _kinds(tree: Tree) -> list[str]:
    return [work.operator.value for work in tree.nodes]


def test_drafts_come_first() -> None:
    """The first nodes are drafts, whatever their outcomes, and the baseline is not one of them."""
    tree = Tree(drafts=3)
    [work] = tree.grown(good(0.9), buggy())
    assert [node.operator for node in (*tree.nodes, work)] == [Operator.DRAFT] * 3
    assert work.draft.title == "draft 3"
    assert work.parents == ()
    assert work.session == "script"
    assert work.budget.steps == 1


def test_the_best_good_node_is_improved() -> None:
    """The parent is the newest of the best nodes, and the child starts from its program."""
    tree = Tree(drafts=3, debug_probability=0)
    [work] = tree.grown(good(0.7, "a"), good(0.9, "b"), good(0.9, "c"))
    assert (work.operator, work.parents) == (Operator.IMPROVE, ("attempt-003",))
    assert work.draft.codebase == "c"
    assert work.draft.codebase_result.startswith("accuracy 0.9")


def test_a_metric_can_be_one_to_minimise() -> None:
    """Best follows the metric's direction, and the baseline's score is not a node's."""
    tree = Tree(drafts=2, debug_probability=0, maximize=False)
    [work] = tree.grown(good(0.3, maximize=False), good(0.1, maximize=False))
    assert work.parents == ("attempt-002",)


def test_a_failed_program_is_debugged_with_its_error() -> None:
    """The child has the program, the end of its output and its error."""
    [work] = Tree(drafts=1, debug_probability=1).grown(buggy("open('x')"))
    assert (work.operator, work.parents) == (Operator.DEBUG, ("attempt-001",))
    assert work.draft.codebase == "open('x')"
    assert "KeyError: 'x'" in work.draft.method
    assert "loaded 30 rows" in work.draft.method


def test_what_has_no_program_cannot_be_debugged() -> None:
    """After invalid replies there is no program to debug, so another draft is planned."""
    [work] = Tree(drafts=1, debug_probability=1).grown(wordless())
    assert work.operator is Operator.DRAFT


def test_without_a_good_node_another_draft_is_made() -> None:
    """If nothing is scored and nothing is debugged, there are more drafts than the parameter says."""
    tree = Tree(drafts=2, debug_probability=0)
    assert [work.operator for work in tree.grown(buggy(), buggy(), buggy())] == [Operator.DRAFT]


def test_a_chain_of_debugs_ends() -> None:
    """A chain has one debug more than the maximum depth, then the leaf is not debugged again."""
    tree = Tree(drafts=1, debug_probability=1, max_debug_depth=2)
    [work] = tree.grown(*[buggy()] * 4)
    assert _kinds(tree) == ["draft", "debug", "debug", "debug"]
    assert work.operator is Operator.DRAFT


def test_one_leaf_has_one_debug_at_once() -> None:
    """A leaf whose debug is in flight is not debugged by another slot."""
    tree = Tree(drafts=1, debug_probability=1, coders=3)
    tree.grow()
    for name in ("attempt-001", "attempt-002", "attempt-003"):
        tree.end(name, buggy() if name == "attempt-001" else wordless())
    planned = tree.plan()
    assert isinstance(planned, list)
    assert [each.operator for each in planned if isinstance(each, Code)] == ["debug", "draft", "draft"]


def test_memory_holds_what_was_scored() -> None:
    """Drafts and improvements get plan, review and score of the scored nodes, the newest last."""
    [work] = Tree(drafts=9).grown(good(0.8), buggy(), good(0.9))
    known = work.draft.method
    assert known.index("attempt-001: accuracy 0.8") < known.index("attempt-003: accuracy 0.9")
    assert "Plan of 0.9." in known
    assert "missing" not in known


def test_the_tree_ends_with_its_steps() -> None:
    """When all nodes are planned, the agent waits for those in flight and is then done."""
    tree = Tree(nodes=3, coders=2)
    first, second = tree.grow()
    tree.end(first, good())
    [third] = tree.grow()
    assert tree.plan() == Wait()
    tree.end(second, good())
    assert tree.plan() == Wait()
    tree.end(third, buggy())
    assert tree.plan() == Done(reason="the tree has its 3 programs")


def test_each_draft_has_a_notebook_of_its_own() -> None:
    """In the variant `code` each draft gets another Python notebook, in order of votes."""
    view = CommunityView(
        notebooks=(
            notebook("a/few", "few", votes=1),
            notebook("b/r", "library(x)", votes=9, language="r"),
            notebook("c/many", "many", votes=5),
        )
    )
    tree = Tree(drafts=3, coders=3, community="code", view=view)
    tree.grow()
    assert [work.draft.codebase for work in tree.nodes] == ["many", "few", ""]
    assert [work.draft.sources for work in tree.nodes] == [("c/many",), ("a/few",), ()]
    assert [work.inputs for work in tree.nodes] == [()] * 3


@pytest.mark.parametrize("view", [CommunityView(), VIEW])
def test_the_journal_is_the_tree(view: CommunityView) -> None:
    """The journal nests children below parents, with plan and review, and notes a missing community."""
    tree = Tree(drafts=1, community="rag", debug_probability=1)
    [name] = tree.grow()
    tree.end(name, buggy())
    tree.grow()
    told = Aide.journal(tree.state, view)
    assert "- attempt-001: draft 1: KeyError: 'x'\n  - attempt-002: debug attempt-001: running" in told
    assert "- attempt-001: A plan. The column is missing." in told
    assert ("There is no community" in told) == (view == CommunityView())


def test_an_estimate_counts_nodes() -> None:
    """The estimate has a program and a review for each node, and reading for each draft in `rag`."""
    for variant, calls in (("none", 40), ("rag", 45)):
        expected = Aide.estimate(Tree(nodes=20, community=variant).state.spec)
        assert expected.plan == "20 programs, 5 drafts first"
        assert sum(each.times for each in expected.calls) == calls


def _outcome(kind: str, value: float) -> CodeOutcome:
    return {"good": lambda: good(value), "buggy": buggy, "wordless": wordless}[kind]()


def _check(tree: Tree, new: Code, drafts: int, deepest: int) -> None:
    """Hold a node that is about to be planned against the tree that it grows from."""
    attempts = {each.id: each for each in tree.state.works.attempts()[1:]}
    scored_nodes = [each for each in attempts.values() if each.outcome and each.outcome.score]
    roots = [each for each in attempts.values() if not each.work.parents]
    if new.operator is Operator.DRAFT:
        assert new.parents == ()
        assert len(roots) < drafts or not scored_nodes
        return
    assert len(roots) >= drafts
    [parent] = [attempts[name] for name in new.parents]
    assert parent.outcome is not None, "no node grows from one that is in flight"
    if new.operator is Operator.IMPROVE:
        best = max(each.score.value for each in scored_nodes if each.score)
        newest = [each for each in scored_nodes if each.score and each.score.value == best][-1]
        assert parent == newest
        return
    assert parent.outcome.score is None
    assert parent.outcome.last is not None
    assert all(parent.id not in each.work.parents for each in attempts.values())
    chain = [new]
    while chain[-1].operator is Operator.DEBUG:
        chain.append(attempts[chain[-1].parents[0]].work)
    assert len(chain) - 1 <= deepest + 1


@given(
    data=st.data(),
    seed=st.integers(0, 99),
    coders=st.integers(1, 4),
    most=st.integers(1, 18),
    drafts=st.integers(1, 4),
    probability=st.sampled_from([0.0, 0.5, 1.0]),
    deepest=st.integers(0, 3),
)
def test_every_tree_keeps_the_rules(
    data: st.DataObject,
    seed: int,
    coders: int,
    most: int,
    drafts: int,
    probability: float,
    deepest: int,
) -> None:
    """Roots, chains, parents and counts keep their invariants for any outcomes in any order."""
    tree = Tree(
        seed=seed,
        coders=coders,
        nodes=most,
        drafts=drafts,
        debug_probability=probability,
        max_debug_depth=deepest,
    )
    while not isinstance(decision := tree.plan(), Done):
        planned = decision if isinstance(decision, list) else []
        for number, work in enumerate(planned):
            assert isinstance(work, Code)
            again = tree.plan()
            assert again == planned[number:], "one after another is as all at once"
            _check(tree, work, drafts, deepest)
            tree.grow_by(work)
        flying = [each.id for each in tree.state.works.in_flight()]
        assert len(flying) == min(coders, len(flying) + most - len(tree.nodes))
        name = data.draw(st.sampled_from(flying))
        tree.end(name, _outcome(data.draw(_ENDS), data.draw(st.integers(1, 9)) / 10))
    assert len(tree.nodes) == most
    assert not tree.state.works.in_flight()
