"""Find the program in what a model wrote."""

from comind.errors import ReplyError
from comind.system.syntax import parse_python

__all__ = ["program_in"]

_FENCE = "```"
_OPENINGS = {_FENCE, f"{_FENCE}python", f"{_FENCE}py", f"{_FENCE}python3"}


def program_in(text: str) -> str:
    """Return the program in `text`, whatever stands around it and whatever fences it holds itself.

    A program may contain fences (in a string, say), and a reply several blocks. Python decides: all
    from the first fence to the last if that is Python, else all blocks one after another if they are,
    else the longest beginning that is.

    Raises:
        ReplyError: there is neither a block nor a text that is Python as it stands.
    """
    lines = text.splitlines()
    opening = next((n for n, line in enumerate(lines) if line.strip().lower() in _OPENINGS), None)
    if opening is None:
        if lines and _is_python(text):
            return text.strip()
        raise ReplyError(f"there is no block that begins with a line {_FENCE}python")
    closings = [n for n, line in enumerate(lines) if n > opening and line.strip() == _FENCE]
    if not closings:
        unclosed = "\n".join(lines[opening + 1 :])
        if _is_python(unclosed):
            return unclosed
        raise ReplyError("its block is not closed")
    joined = _joined(lines)
    upto = ["\n".join(lines[opening + 1 : closing]) for closing in reversed(closings)]
    return next((code for code in (upto[0], joined, *upto[1:]) if _is_python(code)), joined)


def _joined(lines: list[str]) -> str:
    """Return the content of all blocks, one after another; a reply that was sent twice, once."""
    blocks: list[list[str]] = []
    inside = False
    for line in lines:
        bare = line.strip().lower()
        if not inside and bare in _OPENINGS:
            inside = True
            blocks.append([])
        elif inside and bare == _FENCE:
            inside = False
        elif inside:
            blocks[-1].append(line)
    if all(block == blocks[0] for block in blocks):
        del blocks[1:]
    return "\n".join(line for block in blocks for line in block)


def _is_python(code: str) -> bool:
    try:
        parse_python(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
