"""Prefect flows, one a module; what they need and the command line are in subpackages."""
