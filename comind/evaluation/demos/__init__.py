"""Small competitions made from scikit-learn's own data, so that everything can be tried offline.

Each has its description in `competitions/<demo>/`, and a small community (`communities/<demo>/`, in the
contract's format) whose notebooks and discussions were written for the demo. For one of them
`recordings/<demo>/` has a language model's replies to a whole campaign, to be watched without a key.
"""

from comind.evaluation.demos.make import DEMOS, make_demo, recordings

__all__ = ["DEMOS", "make_demo", "recordings"]
