"""Read, date, rank and snapshot what others published on a competition.

All of it is untrusted: it is parsed as data, bounded and sanitized, and never executed here.
A notebook has three shapes: a validated line of a file, an item with all its times, and a view.

access           one interface to community folders and as-of stores
jsonl            community folder -> items, and the reasons for what was rejected
lines            schema of a line, and the item made from it
sanitize         untrusted text: hidden characters, noise, length limits
notebook_source  untrusted notebooks as one script each
items            items with all their times and observations
asof             items -> view: what was visible at a moment
ranking          order of a view by expected usefulness
snapshot         the copy of a view that a campaign keeps and mounts
provenance       graph of items, ideas, drafts and solutions
"""
