"""Prefect tasks, and the adapters of MLflow, DVC and git.

A task takes values, calls one library function and returns a value.
"""
