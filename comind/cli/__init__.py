"""The command line: a module for each command, and what they share.

The first line of a command module's docstring is the command's help; `add_arguments(parser)` declares
its arguments, and sets the function that runs it as the default of `run`.
"""
