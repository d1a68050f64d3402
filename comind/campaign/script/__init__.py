"""Derive the standalone script of an attempt: the statements that its final submissions need.

    cells.py     the cells that ran, as plain Python
    effects.py   what a statement binds, changes and needs, as far as its text tells
    paths.py     the files that a program names
    derive.py    a backward slice from the two submissions

It knows neither sandbox nor grader. Only running a script shows that it gives the same submissions.
"""
