"""Grade submissions to the 75 competitions of MLE-bench, by Kaggle's rules or by those of MLE-bench.

Contains the catalog of competitions, readers of their answers, grading and reports. Metrics are defined
in `metrics`; nothing here depends on campaigns.
"""
