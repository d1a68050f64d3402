"""Tests of AIDE: search policy, nodes and prompts."""
