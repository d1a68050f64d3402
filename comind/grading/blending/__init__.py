"""Blend submissions: select the weighted average that scores best, or learn a stack, and test it.

    averaging.py           average submissions; also the source of a blend's own program
    selection.py           greedy forward selection with replacement (Caruana et al. 2004)
    stacking.py            weights that are learned on out-of-fold predictions
    held_out.py            gain over the best candidate, on rows that were not selected on
    cross_fit.py           the blend that gains most there
    error_correlation.py   correlations between the errors of submissions

This runs in the grader process, which alone has the labels. Which attempts are candidates, and what
becomes of a blend, does not belong here.
"""
