"""Small competitions made from scikit-learn's own data, so that everything can be tried offline.

Each has its description in `competitions/<demo>/`, and a small community (`communities/<demo>/`, in the
contract's format) whose notebooks and discussions were written for the demo.
"""

from comind.evaluation.demos.make import DEMOS, make_demo

__all__ = ["DEMOS", "make_demo"]
