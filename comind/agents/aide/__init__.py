"""AIDE: tree search over programs, which are drafted, debugged and improved (docs/aide.md).

    tree_search  plans the next nodes of the tree: parameters and search policy
    coder        a node: plan and program in one reply, one run, a review
    notes        notebooks and discussions in prompts (AIDE+Code, AIDE+RAG)

Prompts are files in `prompts/`.
"""

from comind.agents.aide.tree_search import Aide

__all__ = ["Aide"]
