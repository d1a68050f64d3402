"""Alerts about campaigns, by webhook and e-mail."""
