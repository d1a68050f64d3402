"""The command line: `comind solve | grade | doctor | ui`."""

from flows.cli.main import main

__all__ = ["main"]
