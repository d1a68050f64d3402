"""What other people published on a competition: notebooks, discussions, datasets, as of a moment.

Here belongs everything about reading, dating, ranking and keeping it. All of it was written by
strangers: it is read as data, bounded and cleaned, and nothing in it is ever run or believed here.

folder     the community folder's files -> items, with what could not be used
text       strangers' text, cleaned and bounded; notebooks as one program
items      items with all their times
asof       what of them was there at a moment
ranking    which of that is worth reading
snapshot   the folder that a campaign keeps and mounts
graph      what came from what: items, ideas, drafts, solutions
"""
