"""The Evaluator's scripts for a competition whose metric nobody has named (paper, appendix I.4).

A model writes `split_dataset.py` and `evaluate.py`; both run in a sandbox, are checked, repaired a
stated number of times with the failed check named, then frozen with the split.

author      the conversation in which they are written
bench       runs and checks them; every trial is recorded
programs    one run in a sandbox
grader      scores submissions with the frozen `evaluate.py`
"""

from comind.authoring.author import author_split
from comind.authoring.generated_grader import GeneratedGrader

__all__ = ["GeneratedGrader", "author_split"]
