"""Load competitions, split them, and grade submissions.

All code that reads labels is in this package. It runs no agent's code and calls no model.
"""
