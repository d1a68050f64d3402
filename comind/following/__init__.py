"""A live competition followed day by day: what was seen, tried, handed in, and where we stand.

day       one day, from looking around to where we stand
events    what can happen on a day, in the past tense
state     what the days so far amount to
notices   what has changed since the last look, in words for people
decide    whether the best solution is worth one of the day's submissions
handing   hand in, once, and learn what came of it
journal   the one log of a followed competition
"""
