"""Truncate descriptions of competitions by section; those on metric, files and columns stay.

A description is Markdown, HTML or plain text: headings are `#` and `===` lines, tags, bold lines and
lines with blank lines around them.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from comind.llm.tokens import count_tokens
from comind.llm.truncate_prose import split_sentences, truncate_end, truncate_prose

_NOTE_SHARE = 10  # at most one token in so many names omitted sections
_NOTE_TOKENS = 60
_OPENING_SHARE = 8  # one in so many is for the beginning, where the important sections do not all fit
_JOINT = 1  # token between two sections
_MORE, _FENCE = " ...", "\n```"
_MORE_TOKENS = count_tokens(_MORE) + _JOINT
_FENCE_TOKENS = count_tokens(_FENCE)

_TOPICS = {
    "evaluation": re.compile(
        r"\b(evaluat\w*|metrics?|scor(e|es|ed|ing)|grad(e|es|ed|ing)|judg\w*|criteri(on|a)|"
        r"(performance|error|quality) (measure|function)s?|loss function|leaderboard score)\b"
    ),
    "submission": re.compile(
        r"\b(submi(t|ts|ssions?|tting|tted)|(file|output|prediction|answer) (format|files?)|"
        r"expected output|what (to|(do|should|must) you (need|have)?( to)?) ?(predict|hand in|submit))\b"
    ),
    "data": re.compile(
        r"\b(data|data ?sets?|data ?files?|files?|folders?|columns?|fields?|features?|variables?|"
        r"attributes?|dictionary|schema|labels?|annotations?|tables?|targets?)\b"
    ),
}
_OTHER = re.compile(
    r"\b(deadlines?|timelines?|prizes?|limits?|rules|acknowledge?ments?|licen[cs]es?|citations?|"
    r"references|tutorials?|getting started|data[ -](scien|engineer|min)\w+|jobs?|sponsors?|team)\b"
)
# Headings, or beginnings of lines with a colon, without any markup.
_PHRASE = re.compile(
    r"((competition|model|final|the|sample|training|input|your) )*"
    r"(evaluation|scoring|grading|judging|metrics?|submissions?|data ?sets?|data|files?|columns?|"
    r"fields?|features?|variables?|output|predictions?)"
    r"( (metrics?|criteri(on|a)|method|measure|files?|formats?|descriptions?|requirements?|dictionary|"
    r"fields?|columns?|sets?|details|explanation|guidelines|overview|instructions|sources?))*"
)
_HTML = re.compile(r"<h([1-6])\b[^>]{0,200}>(.{1,200}?)</h\1\s*>[ \t]*\n?", re.IGNORECASE | re.DOTALL)
_ATX = re.compile(r" {0,3}(#{1,6})(?!#)[ \t]*(\S.*?)[ \t]*#*\s*")
_BOLD = re.compile(
    r"\s*(?:<p[^>]*>\s*)?(?:\*\*\*?|__|<(?:b|strong)>)(?P<title>[^*<>]{1,80}?)"
    r"(?:\*\*\*?|__|</(?:b|strong)>)\s*:?\s*(?:<br\s*/?>|</p>)?\s*",
    re.IGNORECASE,
)
_LED = re.compile(
    r"\s*(?:\*\*\*?|__|<(?:b|strong)>)?\s*(?P<title>[A-Za-z][A-Za-z ]{2,40}?)\s*"
    r"(?::(?:\*\*\*?|__|</(?:b|strong)>)?|(?:\*\*\*?|__|</(?:b|strong)>)\s*:)"
)
_RULE = re.compile(r"(=|-){3,}\s*")
_TAG = re.compile(r"<[^>]*>|&\w+;|[*_`#:]+")
# Remains of a web page: images, icons of menus, URLs of links.
_FOR_BROWSERS = re.compile(
    r"!\[[^\]\n]{0,200}\]\([^)\s]*\)|^(?:link|keyboard_arrow_(?:up|down))[ \t]*\n+", re.MULTILINE
)
_LINK = re.compile(r"(?<!!)\[([^\[\]\n]{1,200})\]\((?:https?://|mailto:)[^\s()]*\)")
_OPENED = re.compile(r"\n*```\w* \.\.\.$")
_BESIDE = 7  # level of headings that no markup gives a level
_LONGEST = 60  # characters of a heading without markup
_LONGEST_MARKED = 200


class _Heading(NamedTuple):
    start: int
    end: int
    title: str
    level: int


class _Section(NamedTuple):
    heading: str
    title: str
    topic: str
    """evaluation, submission, data, or empty for anything else."""
    units: tuple[str, ...]
    """Text below the heading, by sentences."""


def truncate_description(text: str, tokens: int) -> str:
    """Truncate the description of a competition to at most `tokens`.

    Images and the URLs of links are dropped first. The sections on evaluation, submission and data keep
    their headings and as many sentences as fit, in turn for each topic; the rest of the tokens is for
    the other sections from the top. Where not all important ones fit, an eighth is for the beginning of
    the text. Sections keep their order; the last line names the omitted ones. From 200 tokens on all
    headings of the three topics are kept, unless they alone take more than half of the tokens.
    """
    if count_tokens(text) <= tokens:
        return text
    text = _LINK.sub(r"\1", _FOR_BROWSERS.sub("", text))
    if count_tokens(text) <= tokens:
        return text
    sections = _sections(text)
    if not any(section.heading for section in sections):
        return truncate_prose(text, tokens)
    note = min(_NOTE_TOKENS, tokens // _NOTE_SHARE)
    room = _Room(sections, tokens - note)
    room.share_out()
    shown = [room.shown(number) for number in sorted(room.taken)]
    left_out = [
        each.title for number, each in enumerate(sections) if each.title and number not in room.taken
    ]
    whole = "\n\n".join([*shown, _note(left_out, note)] if left_out else shown)
    return whole if count_tokens(whole) <= tokens else truncate_prose(whole, tokens)


class _Room:
    """An allocation of tokens to the sentences of sections."""

    def __init__(self, sections: Sequence[_Section], tokens: int) -> None:
        self._sections = sections
        self._left = tokens
        self._costs = [[count_tokens(unit) for unit in section.units] for section in sections]
        self.taken: dict[int, int] = {}
        """How many sentences of a section are shown, by its number."""

    def share_out(self) -> None:
        """Allocate tokens to the important sections, then to the others from the top."""
        sections, numbers = self._sections, range(len(self._sections))
        important = [
            number for topic in _TOPICS for number in numbers if sections[number].topic == topic
        ]
        others = [number for number in numbers if not sections[number].topic]
        for number in important:
            self._open(number, self._left)
        first = next((number for number in others if "".join(sections[number].units).strip()), None)
        if first is not None and sum(sum(self._costs[number]) for number in important) > self._left:
            self._fill(first, self._left // _OPENING_SHARE)
        self._spread([number for number in important if number in self.taken])
        for number in others:
            self._fill(number, self._left)

    def shown(self, number: int) -> str:
        """Return the heading and the first sentences of a section."""
        section, taken = self._sections[number], self.taken[number]
        body = "".join(section.units[:taken])
        if taken < len(section.units):
            body = body.rstrip() + (_MORE if body.strip() else _MORE.strip())
            if body.count("```") % 2:
                opened = _OPENED.search(body)
                body = body[: opened.start()] + _MORE if opened else body + _FENCE
        return (section.heading + body).strip("\n")

    def _open(self, number: int, limit: int) -> bool:
        """Allocate tokens to a section's heading and marks, if there are enough."""
        section = self._sections[number]
        marks = _MORE_TOKENS + (_FENCE_TOKENS if any("```" in unit for unit in section.units) else 0)
        needed = count_tokens(section.heading) + marks
        if needed > limit:
            return False
        self.taken[number] = 0
        self._left -= needed
        return True

    def _take(self, number: int, limit: int) -> bool:
        """Allocate tokens to a section's next sentence, if there is one and there are enough."""
        taken, costs = self.taken[number], self._costs[number]
        if taken == len(costs) or costs[taken] > limit:
            return False
        self.taken[number] = taken + 1
        self._left -= costs[taken]
        return True

    def _spread(self, numbers: Sequence[int]) -> None:
        """Take sentences in turn, of the topic, then the section, that has the fewest tokens so far."""
        going, had = set(numbers), dict.fromkeys(_TOPICS, 0)
        while going:
            number = min(
                going, key=lambda each: (had[self._sections[each].topic], self._had(each), each)
            )
            before = self._left
            if not self._take(number, self._left):
                going.remove(number)
            had[self._sections[number].topic] += before - self._left

    def _had(self, number: int) -> int:
        return sum(self._costs[number][: self.taken[number]])

    def _fill(self, number: int, limit: int) -> None:
        """Take a section's sentences as far as they fit; no heading where the first one does not."""
        if number in self.taken:
            return
        least = self._left - limit
        first = self._costs[number][0] if self._costs[number] else 0
        if self._open(number, limit - first):
            while self._take(number, self._left - least):
                pass


def _note(titles: Sequence[str], tokens: int) -> str:
    """Return a line that names omitted sections, as many as fit."""
    for named in range(len(titles), 0, -1):
        more = f" and {len(titles) - named} more" if named < len(titles) else ""
        line = f"(Left out: {', '.join(titles[:named])}{more}.)"
        if count_tokens(line) + _JOINT <= tokens:
            return line
    return truncate_end(f"(Left out: {len(titles)} sections.)", tokens)


def _sections(text: str) -> list[_Section]:
    """Split a description into sections; text before the first heading is one without a heading."""
    headings = _headings(text)
    first = headings[0].start if headings else len(text)
    found = [_Section("", "", "", split_sentences(text[:first]))] if first else []
    above: list[tuple[int, str]] = []  # level and topic of the parent headings
    for number, each in enumerate(headings):
        end = headings[number + 1].start if number + 1 < len(headings) else len(text)
        words = each.title.casefold()
        own = _topic_of(words)
        if number == 0 and each.level == 1 and not _PHRASE.fullmatch(words):
            own = ""  # the competition's own name
        while above and above[-1][0] >= each.level:
            above.pop()
        inherited = above[-1][1] if above and not _OTHER.search(words) else ""
        above.append((each.level, own or inherited))
        body = split_sentences(text[each.end : end])
        found.append(_Section(text[each.start : each.end], each.title, own or inherited, body))
    return found


def _topic_of(title: str) -> str:
    if _OTHER.search(title):
        return ""
    return next((topic for topic, pattern in _TOPICS.items() if pattern.search(title)), "")


def _headings(text: str) -> list[_Heading]:
    """Return the headings of a text in order, without those that overlap an earlier one."""
    found = [
        _Heading(each.start(), each.end(), _plain(each[2]), int(each[1]))
        for each in _HTML.finditer(text)
    ]
    found += _marked(text)
    if not any(each.level < _BESIDE for each in found):
        found += _alone(text)
    kept: list[_Heading] = []
    for each in sorted(found):
        if each.title and (not kept or each.start >= kept[-1].end):
            kept.append(each)
    return kept


class _Line(NamedTuple):
    start: int
    text: str
    before: str
    after: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def _lines(text: str) -> Iterator[_Line]:
    """Yield the lines outside of code blocks, with their neighbours."""
    lines = text.splitlines(keepends=True)
    start, fenced = 0, False
    for number, line in enumerate(lines):
        marks = line.lstrip().startswith(("```", "~~~"))
        fenced ^= marks
        if not fenced and not marks and line.strip():
            before = lines[number - 1] if number else ""
            after = lines[number + 1] if number + 1 < len(lines) else ""
            yield _Line(start, line, before, after)
        start += len(line)


def _marked(text: str) -> Iterator[_Heading]:
    """Yield the headings with markup in their line, or known by their words."""
    for line in _lines(text):
        led = _LED.match(line.text[:_LONGEST_MARKED])
        if led and _PHRASE.fullmatch(led["title"].casefold()):
            yield _Heading(line.start, line.start + led.end(), _plain(led["title"]), _BESIDE)
        if len(line.text) > _LONGEST_MARKED:
            continue
        atx, bold = _ATX.fullmatch(line.text), _BOLD.fullmatch(line.text)
        rule = _RULE.fullmatch(line.after)
        words = _plain(line.text)
        if atx:
            yield _Heading(line.start, line.end, _plain(atx[2]), len(atx[1]))
        elif bold:
            yield _Heading(line.start, line.end, _plain(bold["title"]), _BESIDE)
        elif rule and not line.before.strip() and len(words) <= _LONGEST:
            level = 1 if rule[1] == "=" else 2
            yield _Heading(line.start, line.end + len(line.after), words, level)
        elif _PHRASE.fullmatch(words.casefold()):
            yield _Heading(line.start, line.end, words, _BESIDE)


def _alone(text: str) -> Iterator[_Heading]:
    """Yield short lines between blank lines, as headings are in a text without markup."""
    for line in _lines(text):
        words = line.text.strip()
        if (
            not line.before.strip()
            and not line.after.strip()
            and len(words) <= _LONGEST
            and words[0].isupper()
            and (words[-1].isalnum() or (words[-1] in ":?" and _topic_of(words.casefold())))
        ):
            yield _Heading(line.start, line.end, _plain(words), _BESIDE)


def _plain(title: str) -> str:
    """Return a title without markup in one line."""
    return " ".join(_TAG.sub(" ", title).split())
