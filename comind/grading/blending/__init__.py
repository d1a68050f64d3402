"""Blend submissions: select the weighted average that scores best, and test it on other rows.

    averaging.py           average submissions; also the source of a blend's own program
    selection.py           greedy forward selection with replacement (Caruana et al. 2004)
    cross_fit.py           select on one half of the rows, score on the other, both ways
    error_correlation.py   correlations between the errors of submissions

This runs in the grader process, which alone has the labels. Which attempts are candidates, and what
becomes of a blend, does not belong here.
"""
