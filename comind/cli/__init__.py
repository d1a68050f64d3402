"""The command line: a table of commands, a module for each, and what they share.

`add_arguments(parser)` of a command's module declares its arguments, and sets the function that runs it
as the default of `run`; the first line of its docstring is the command's help.
"""
