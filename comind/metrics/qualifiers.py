"""Find words next to the name of a metric that make it another metric.

A name counts only where all words around it are understood: words before it have to be neutral, and no
word after it may speak of groups, weights, ranges, transformed or selected values.
"""

import re
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import yaml

_PHRASE = 5  # words before a name that may belong to it
_CLAUSE = 9  # words of a clause after a name
_AVERAGED = frozenset(("mean", "average", "averaged"))
_MINUS = re.compile(
    r"\b(?:1|one)\s*[-\u2212\u2013]\s*(?=[a-z(])|(?<=[a-z:=] )[-\u2212](?=[a-z]{3})", re.IGNORECASE
)
_OVER_COLUMNS = re.compile(r"(?:s )?(?:over|across|of|for) (?:\w+ ){0,2}(?:columns?|targets?)\b")
_IS_NOT = re.compile(r"\b(?:is|was|are|were|will) (?:not|no)\b")


class _Words(NamedTuple):
    """The words and patterns of `qualifiers.yaml`."""

    neutral: frozenset[str]
    following: frozenset[str]
    clauses: frozenset[str]
    plain_clause: re.Pattern[str]
    ends: frozenset[str]
    qualifiers: re.Pattern[str]
    before_too: re.Pattern[str]
    after_too: re.Pattern[str]
    of: re.Pattern[str]
    after: re.Pattern[str]
    unlike: re.Pattern[str]
    selects: re.Pattern[str]
    clipped: re.Pattern[str]
    of_scoring: re.Pattern[str]
    aside: re.Pattern[str]


@cache
def _words() -> _Words:
    given = yaml.safe_load(Path(__file__).with_name("qualifiers.yaml").read_text(encoding="utf-8"))
    parts = {name: given[name] for name in ("rows", "columns", "groups")}

    def any_of(name: str) -> str:
        patterns = given[name] if isinstance(given[name], list) else [given[name]]
        return "|".join(pattern.format(**parts) for pattern in patterns)

    return _Words(
        neutral=frozenset(given["neutral"].split()),
        clauses=frozenset(given["clauses"].split()),
        plain_clause=re.compile(rf"\b(?:{any_of('plain_clause')})\b"),
        following=frozenset(f"{given['neutral']} {given['following']}".split()),
        ends=frozenset(given["ends"].split()),
        qualifiers=re.compile(rf"(?<![a-z0-9])(?:{any_of('qualifiers')})(?![a-z0-9])"),
        before_too=re.compile(
            rf"(?:{given['scored_too']}) (?:and|or|then|plus|as well as)(?: the| a| an)?$"
        ),
        after_too=re.compile(
            r"(?:score )?(?:and|or|plus|as well as|together with|followed by) (?:the |a |an )?"
            rf"(?:\w+ ){{0,3}}(?:{given['scored_too']})\b"
        ),
        of=re.compile(rf"\b(?:{given['of']}) of (?:the |a |an |each |both )*$"),
        after=re.compile(any_of("after")),
        unlike=re.compile(rf"\b(?:{given['unlike']})(?: (?:{given['fillers']})){{0,4}} *$"),
        selects=re.compile(rf"\b(?:{any_of('selects')})"),
        clipped=re.compile(any_of("clipped")),
        of_scoring=re.compile(rf"\b(?:{given['of_scoring']})\b"),
        aside=re.compile(given["aside"]),
    )


def is_comparison(before: str, after: str) -> bool:
    """Return whether the words around a name say that it is not the metric: `unlike`, `is not`."""
    return _words().unlike.search(before.strip()) is not None or _IS_NOT.search(after) is not None


def qualifier(
    raw: str, before: str, after: str, *, understood: str = "", averages: bool = False
) -> str | None:
    """Return the words of a sentence that make the metric named in it another one; None without any.

    Args:
        raw: the sentence as written.
        before: its plain words before the name.
        after: its plain words after the name.
        understood: words that belong to the metric, as `class` to a mean over classes.
        averages: whether the metric is a mean over rows, so that `mean` before it says nothing more.
    """
    allowed = {*understood.split(), *(_AVERAGED if averages else ())}
    if found := _MINUS.search(raw):
        return found[0].strip()
    if around := _around(before, after, allowed, averages=averages):
        return around
    for part in (before, after):
        for match in _words().qualifiers.finditer(part):
            if not allowed.intersection(match[0].split()):
                return match[0]
    return None


def _around(before: str, after: str, allowed: set[str], *, averages: bool) -> str | None:
    """Return the words directly before or after a name that are not neutral, or None."""
    words = _words()
    if found := words.of.search(f"{before} "):
        over_columns = averages and _OVER_COLUMNS.match(after)
        if not (found[0].split()[0] in _AVERAGED and (over_columns or "class" in allowed)):
            return found[0].strip()
    phrase: list[str] = []
    for word in reversed(before.split()):
        if word in words.ends or len(phrase) == _PHRASE:
            break
        phrase.insert(0, word)
    if odd := [word for word in phrase if word not in words.neutral and word not in allowed]:
        return " ".join(phrase[phrase.index(odd[0]) :])
    following = list(takewhile(lambda word: word not in words.ends, after.split()[:_PHRASE]))
    if odd := [word for word in following if word not in words.following and word not in allowed]:
        return " ".join(following[: following.index(odd[0]) + 1])
    if words.after.match(after):
        return " ".join(after.split()[:3])
    clause = after.split()[len(following) :][:_CLAUSE]
    if clause[:1] and clause[0] in words.clauses and not words.plain_clause.search(" ".join(clause)):
        return " ".join(clause[:4])
    found = words.before_too.search(before) or words.after_too.match(after)
    return found[0] if found else None


def selection(passage: list[str], *, understood: str = "") -> str | None:
    """Return the words of plain sentences that limit, weight or average what is scored, or None."""
    for sentence in passage:
        if found := _words().clipped.search(sentence):
            return found[0]
        if _words().aside.search(sentence) or not _words().of_scoring.search(sentence):
            continue
        for match in _words().selects.finditer(sentence):
            if not set(understood.split()).intersection(match[0].split()):
                return match[0]
    return None
