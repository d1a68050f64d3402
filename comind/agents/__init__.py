"""Agents: whole published systems on the campaign's protocol, blind to each other."""
