"""Infer a competition's tables, columns and metric from its files as they are downloaded."""
