"""What the public files of a split say, over all rows, as one text for prompts.

Here belongs what is counted and how it is put into words; the public folder alone is read, so no label
of a validation or test row can be in it.

text      the one string, within its tokens
reading   what there is to tell, what matters most first
budget    how sections share tokens
database  tables read as a stream, whatever is wrong with them
columns   what is counted of each column
lines     how that is told, a line a column
overlaps  what validation and test share with train
files     folders and side files: kinds, names, whose rows they belong to
media     what is in one file: pictures, sounds, arrays, first lines
words     how numbers, shares and values are written
"""

from comind.evaluation.data_profile.text import TOKENS, facts_of
from comind.evaluation.data_profile.text_budget import Measure

__all__ = ["TOKENS", "Measure", "facts_of"]
