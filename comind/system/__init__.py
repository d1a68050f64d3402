"""Facts of the operating system: durable writes, safe reads, processes that end with us.

Here belongs what any program would need and the standard library leaves to its user.
What names a competition, a campaign or an agent does not belong here.
"""
