"""Alerts about campaigns and followed competitions, by chat, e-mail or JSON."""
