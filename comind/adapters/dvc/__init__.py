"""The adapter of DVC."""
