"""MLE-bench as a plug-in: its 75 competitions, graded by Kaggle's rules or by its own.

Catalog of competitions, readers of their answers, grading, the command `comind mlebench`, and the
program that runs a campaign in its container. No other package imports it.
"""
