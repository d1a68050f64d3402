"""Append-only logs that survive kills, with one writer each and the state that they fold to.

log       records, one JSON object a line, sealed by chained checksums
store     a log with its state
"""
