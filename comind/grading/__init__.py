"""Score submissions against sealed answers. Nothing here runs an agent's code or calls a model."""
