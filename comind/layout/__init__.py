"""Infer a competition's tables, columns and metric from its files as they are downloaded.

Nothing here splits or scores; `kaggle` and `evaluation` both use it.
"""
