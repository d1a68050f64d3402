"""Execute one piece of work: contexts for agents, recorded effects, metered models, the cell monitor."""
