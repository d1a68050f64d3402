"""The command line: `comind solve | grade | doctor | ui`."""
