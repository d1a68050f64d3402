"""Events of campaigns and of work, the states they fold to, and the files that hold them.

Nothing that performs an effect belongs here.
"""
