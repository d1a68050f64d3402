"""Compute statistics, tables and figures from the results of a bench: agents x competitions x seeds.

results             values of a bench and of its runs
statistics          means over seeds with standard errors, costs, and all other statistics of a report
paired_differences  differences to the reference arm, with a hierarchical bootstrap
score_curves        win rate against time and cost, code size over time
shrinkage           validation scores against scores on the true answers
report_tables       the report in Markdown, CSV and JSON
figures             figures in SVG and PNG

Functions here are pure, except those that write figures; planning and running a bench belong to flows.
"""
