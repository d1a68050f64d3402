"""Code as a hostile model would write it, run through real sessions.

`docs/security.md` has a line for each channel; a test here is where the line comes from. Add a sandbox
to `conftest.SEALED`, and all of it runs there, too.
"""
