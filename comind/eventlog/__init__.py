"""Crash-safe append-only event logs with a single writer, and the state folded from them.

log       records, one JSON object per line, with chained checksums
store     a log with its state
"""
