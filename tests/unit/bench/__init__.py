"""Tests of benches: plans, results, statistics."""
