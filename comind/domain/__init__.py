"""Define the values that all packages share: metrics, competitions, drafts, spend.

All are frozen, compare by value and serialise to JSON. I/O, waiting and calls do not belong here.
"""
