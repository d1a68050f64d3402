"""Agents: published systems, plugged into the campaign's protocol and independent of each other."""
