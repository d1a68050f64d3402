"""AutoMind: tree search with a knowledge base and a coder that adapts (docs/automind.md).

    automind        plans searches, plans, programs and checks from the campaign's state
    solution_tree   nodes of the tree, and the search policy over them
    purposes        parameters, and the typed facts and results of all thoughts
    planner         writes plans with knowledge, scores their complexity, verifies results
    adaptive_coder  a program in one pass, or in steps that are checked one by one

Prompts are files in `prompts/`; the knowledge base is `comind.knowledge`.
"""

from comind.agents.automind.automind import AutoMind

__all__ = ["AutoMind"]
