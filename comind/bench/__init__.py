"""Plan a bench, agents x competitions x seeds, and compute statistics, tables and figures of it.

plan                arms, competitions and seeds, and the campaigns of their cells
results             values of a bench and of its runs
statistics          means over seeds with standard errors, costs, and all other statistics of a report
paired_differences  differences to the reference arm, with a hierarchical bootstrap
score_curves        win rate against time and cost, code size over time
shrinkage           validation scores against scores on the true answers
normalised_scores   scores of programs, averaged over competitions
report_sections     the report as sections of tables and notes
report_tables       the report in Markdown, CSV and JSON
bench_page          the report as an HTML page
figures             figures in SVG and PNG

Functions here are pure, except those that read plans and write figures; flows run a bench.
"""
