"""Adapters: the only modules that know MLflow, DVC, git and channels of alerts."""
