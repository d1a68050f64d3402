"""Find the files that a program names in its text."""

import ast
import re

__all__ = ["ANY_FILE", "file_of", "mode_of", "named_files"]

ANY_FILE = "file:*"
"""A file whose name is unknown."""

_FILE = re.compile(r"(?:^|/)([\w\-. ]*[\w\-]\.[A-Za-z][\w.]{0,9})$")


def file_of(text: str) -> str | None:
    """Return the name of a file in `Effects`; None if `text` is not a file name."""
    found = _FILE.search(text.strip())
    return f"file:{found.group(1)}" if found and len(text) < 300 else None  # noqa: PLR2004 - no path


def named_files(call: ast.Call) -> set[str]:
    """Return the files that a call names by literals; none if a name is formatted."""
    if any(isinstance(each, ast.JoinedStr) for each in ast.walk(call)):
        return set()
    texts = [each.value for each in ast.walk(call) if isinstance(each, ast.Constant)]
    return {name for text in texts if isinstance(text, str) and (name := file_of(text))}


def mode_of(call: ast.Call) -> str:
    """Return `r` if a call of `open` only reads, else `w`."""
    given = [*call.args[1:2], *(each.value for each in call.keywords if each.arg == "mode")]
    if not given and isinstance(call.func, ast.Attribute):  # Path.open(mode)
        given = call.args[:1]
    if not given:
        return "r"
    text = given[0].value if isinstance(given[0], ast.Constant) else "w"
    return "r" if str(text).strip("tb") == "r" else "w"
