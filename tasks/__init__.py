"""Prefect tasks: each takes values, calls one library function, returns a value.

The only place that knows MLflow and DVC.
"""
