"""The standalone script of an attempt: what its final submissions need of the cells that ran.

    cells.py     the cells that ran -> what counts of them, as plain Python
    effects.py   what a statement binds, changes and needs, as far as its text tells
    paths.py     the files that a program names
    derive.py    backwards from the two submissions to the statements that lead to them

It knows neither sandbox nor grader. Whether a script gives the same submissions is shown by running it.
"""

from comind.campaign.script.cells import RanCell, cells_of
from comind.campaign.script.derive import Script, ScriptKind, all_cells, derive

__all__ = ["RanCell", "Script", "ScriptKind", "all_cells", "cells_of", "derive"]
