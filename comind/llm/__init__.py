"""Models: one small port, adapters behind it, and the typed exchange over it.

Here belongs how a model is asked and what its reply must look like. What is asked, and what a reply
leads to, belongs to the agents.
"""
