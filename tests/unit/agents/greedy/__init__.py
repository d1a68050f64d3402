"""Tests of greedy refinement."""
