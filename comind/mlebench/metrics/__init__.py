"""Metrics that serve one past competition each; entry points of the group `comind.metrics`."""
