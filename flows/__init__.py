"""Flows that run campaigns, and the command line; the only place that reads `params.yaml`."""
