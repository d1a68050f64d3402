"""Find the passages of a page that speak of the evaluation, and their sentences."""

import re
from collections.abc import Iterator

_VERB = re.compile(
    r"\b(?:evaluated|scored|judged|measured|metric|ranked|graded|score is|scoring)\b", re.IGNORECASE
)
_HEADING = re.compile(
    r"^\W*(?:evaluation|(?:evaluation )?metric|scoring|how .{0,20} scored)\W*$", re.IGNORECASE
)
_NEXT_HEADING = re.compile(
    r"^(?:#+ .*|\W*(?:submission (?:file|format)|submission file format|prizes?|timeline|rules)\W*)$",
    re.IGNORECASE,
)
_NEXT_TOPIC = re.compile(
    r"^\W*(?:submissions?(?: (?:file|format|instructions))?|(?:sample|example) submission|prizes?"
    r"|timeline|rules|dataset?|description|about .*|acknowledge?ments?|files?|leaderboard.*"
    r"|code requirements)\W*$",
    re.IGNORECASE,
)
_END = re.compile(r"\A|(?<=[.!?;])\s+|\n\s*\n")  # of the sentence before
_SENTENCE = 300  # characters after a verb such as "evaluated"
_SECTION = 1_500  # characters after a heading


def passages_of(page: str) -> Iterator[str]:
    """Yield the text after each heading on the evaluation; without one, what follows its verbs.

    Headings below that of the section belong to it.
    """
    lines = page.splitlines()
    starts = [number for number, line in enumerate(lines) if _HEADING.match(line)]
    end = 0
    for start in starts:
        if start < end:
            continue
        level = _level(lines[start])
        later = range(start + 1, len(lines))
        end = next((n for n in later if _ends(lines[n], level)), len(lines))
        yield "\n".join(lines[start + 1 : end])[:_SECTION]
    if not starts:
        for match in _VERB.finditer(page):
            start = max(end.end() for end in _END.finditer(page, 0, match.start()))
            yield page[start : match.start() + _SENTENCE]


def _level(line: str) -> int:
    """Return the number of a heading's marks; 0 for a heading without."""
    return len(line) - len(line.lstrip("#"))


def _ends(line: str, level: int) -> bool:
    """Return whether a line is a heading that ends a section of this level."""
    if not _NEXT_HEADING.match(line):
        return False
    return not _level(line) > level > 0 or _NEXT_TOPIC.match(line) is not None


def sentences_of(passage: str) -> list[str]:
    """Return the sentences of a passage, without the commands of formulas and the addresses of links."""
    text = re.sub(r"\\[a-zA-Z]+|(?<=\])\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*\)|https?://\S+", " ", passage)
    return [raw for raw in re.split(r"(?<=[.!?])\s+|\n\s*\n", text) if raw.strip()]
