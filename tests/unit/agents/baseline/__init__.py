"""Tests of the baseline as an agent."""
