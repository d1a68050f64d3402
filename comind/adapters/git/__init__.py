"""The adapter of git."""
