"""The command line: a table of commands with their arguments, a module for each, and what they share."""
