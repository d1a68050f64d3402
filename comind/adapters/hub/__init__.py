"""The adapter of hubs of models."""
