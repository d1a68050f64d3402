"""Blend submissions: select the weighted average that scores best, and test it on other rows.

    averaging.py           average submissions; also the source of a blend's own program
    selection.py           greedy forward selection with replacement (Caruana et al. 2004)
    cross_fit.py           select on one half of the rows, score on the other, both ways
    error_correlation.py   correlations between the errors of submissions

This runs in the grader process, which alone has the labels. Which attempts are candidates, and what
becomes of a blend, does not belong here.
"""

from comind.evaluation.blending.cross_fit import fit_blend
from comind.evaluation.blending.error_correlation import MOST_COMPARED, error_correlations
from comind.evaluation.blending.selection import MOST_MEMBERS

__all__ = ["MOST_COMPARED", "MOST_MEMBERS", "error_correlations", "fit_blend"]
