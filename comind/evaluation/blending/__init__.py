"""Blends: which weighted average of submissions scores best, and whether that holds on other rows.

    program.py     averages submissions; also the text of a blend's own program
    means.py       which averages fit a metric
    selection.py   greedy forward selection with replacement (Caruana et al. 2004)
    verdict.py     select on one half of the rows, judge on the other, both ways
    errors.py      how far the errors of submissions go together, as agents may know it

It runs inside the grader, which alone holds the labels. Which attempts there are, and what becomes of a
blend, does not belong here.
"""

from comind.evaluation.blending.cross_fit import MOST_CANDIDATES, judge
from comind.evaluation.blending.error_correlation import MOST_COMPARED, correlated
from comind.evaluation.blending.selection import MOST_MEMBERS

__all__ = ["MOST_CANDIDATES", "MOST_COMPARED", "MOST_MEMBERS", "correlated", "judge"]
