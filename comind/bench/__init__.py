"""Benches: agents compared on the same competitions, seeds and budget."""
