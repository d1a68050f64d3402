"""Blends: averages, selection, and the verdict on rows that were not selected on."""
