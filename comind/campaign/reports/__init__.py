"""Report on campaigns: journal, lineage, provenance graph, costs, use of the holdout, code metrics.

Reports are computed from logs and change nothing.
"""
