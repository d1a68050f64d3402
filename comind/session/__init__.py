"""Where an agent's code runs: sandboxes, and persistent sessions inside them.

Here belongs everything about running code that nobody has read. That the code belongs to an attempt,
and what its files mean, is not known here.
"""
