"""MLE-STAR: search for models, refine the block that matters, merge solutions (docs/mlestar.md).

    mlestar            plans the search and all attempts from the campaign's state
    solution_chain     one solution's candidates, merges and refinements, and what follows them
    star_requests      parameters, roles and requests
    model_search       finds models in knowledge, community and on the web
    program_writer     writes, checks, runs and debugs programs
    refinement_loops   plans for the block with the largest effect, and strategies that combine solutions

Prompts are files in `prompts/`; the knowledge base is `comind.knowledge`.
"""

from comind.agents.mlestar.mlestar import MleStar

__all__ = ["MleStar"]
