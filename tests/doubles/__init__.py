"""Doubles of services and ports, for tests and benchmarks.

kaggle       Kaggle in memory
endpoint     an OpenAI-compatible HTTP server with injected faults and its own token counts
faults       the faults that it injects
completions  the bodies that it sends
hub          a hub of pretrained models
recorded     replies replayed from logs
neighbours   the progress of other attempts as a list
clock        a clock on which every wait returns at once

Doubles that authors of agents need are in `comind.testing`.
"""
