"""The command line: one module for each command, and what they share.

A command module has `add_arguments(parser)` and `run(args)`; the first line of `run`'s docstring is the
command's help.
"""
