"""Show progress on a terminal, and ask questions there."""
