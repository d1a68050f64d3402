"""Values that every floor speaks of: metrics, competitions, drafts, spend.

All are frozen, compare by value and can be written as JSON. What reads, writes, waits or calls does
not belong here.
"""
