"""Wrap the operating system: durable and safe file access, supervised processes, hardware.

What any program could use belongs here; what knows competitions, campaigns or agents does not.
"""
