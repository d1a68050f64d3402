"""Derive the standalone script of an attempt: the statements that its final submissions need.

    cells.py     the cells that ran, as plain Python
    calls.py     functions with known effects, aliases of arguments, files read and written
    effects.py   names that a statement binds, mutates and reads
    derive.py    a backward slice from the two submissions

It knows neither sandbox nor grader. Only running a script shows that it gives the same submissions.
"""
