"""The Evaluator: competition folders, splits, metrics, grading.

Here belongs everything that sees labels. Nothing here runs an agent's code or asks a model.
"""
