"""The text of plain numbers, as programs write them."""

import re

NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
"""A finite number, without blanks, separators of thousands and units."""
_NUMBER = re.compile(NUMBER)


def is_number(text: str) -> bool:
    """Return whether a text is a plain number, perhaps with blanks around it."""
    return _NUMBER.fullmatch(text.strip()) is not None
