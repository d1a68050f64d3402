"""Run untrusted code: sandboxes, and persistent sessions inside them.

That the code belongs to an attempt, and what its files mean, is not known here.
"""
