"""Lay out reports of tables, lists and notes, as Markdown and as a self-contained HTML page."""
