"""Compare each attempt with its parent: what was changed, what it gained, and at what cost.

What a lesson claims is measured; the sentence of the attempt's report stands beside it.
"""

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping

from rapidfuzz import fuzz
from rapidfuzz.utils import default_process

from comind.agents.comind.gains import Gain, Verdict, gain_over
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeOutcome
from comind.campaign.log.work import Reference
from comind.campaign.log.work_items import Attempt
from comind.domain.metric import rounded
from comind.domain.value import Value, one_line

_KEPT = 10  # lessons that prompts show
_OF_A_VERDICT = 6  # of these, so that gains do not hide what failed
_SIMILAR = 90  # similarity of two lessons, of 100, above which the second one is omitted
_LINES, _PARTS = 6, 3  # of a difference of programs; of a gain by part
_TITLE_LENGTH, _LINE_LENGTH, _SAID_LENGTH = 120, 110, 400
# Lines that say most of a program: models, features, calls that train.
_TELLING = re.compile(r"\b[A-Z]\w+\(|\]\s*=[^=]|\.fit\(|\btrain\(|\bparams\b")
_SAYS_NOTHING = re.compile(r"^(?:#|import\b|from\b|print\(|[)\]},]*$)")


class Lesson(Value):
    """What an attempt changed of its parent, and what came of it."""

    attempt: str
    parent: str
    title: str
    verdict: Verdict
    gain: float
    """Over the parent, in the digits that agents see; positive is better."""
    error: float
    paired: bool
    seconds: float
    """Running time of the attempt's program."""
    added: int = 0
    removed: int = 0
    lines: tuple[str, ...] = ()
    """The changed lines that say most, each after `+` or `-`."""
    parts: tuple[str, ...] = ()
    """The largest gains by part, in words."""
    said: str = ""
    """The author's explanation."""


def lessons_of(state: CampaignState) -> tuple[Lesson, ...]:
    """Return the ten lessons with most evidence, good and bad ones; of equals the newer first.

    Of lessons that say nearly the same, one is returned.
    """
    newest = reversed(state.works.attempts())
    found = [each for attempt in newest if (each := _lesson(state, attempt))]
    found.sort(key=lambda pair: pair[0].evidence, reverse=True)
    chosen: list[Lesson] = []
    verdicts = Counter[Verdict]()
    for _, lesson in found:
        full = verdicts[lesson.verdict] == _OF_A_VERDICT
        if not full and not any(_alike(lesson, each) for each in chosen):
            chosen.append(lesson)
            verdicts[lesson.verdict] += 1
    return tuple(chosen[:_KEPT])


def all_lessons(state: CampaignState) -> tuple[Lesson, ...]:
    """Return the lesson of each attempt that has one, oldest first."""
    found = (_lesson(state, attempt) for attempt in state.works.attempts())
    return tuple(pair[1] for pair in found if pair)


def reference_of(state: CampaignState, parents: Iterable[str]) -> Reference | None:
    """Return what an attempt planned now is compared with; None while nothing is scored.

    That is the best of its parents, or for a fresh draft the best attempt so far.
    """
    ranked, among = state.works.best_first(), set(parents)
    best = next((each for each in ranked if each.id in among), ranked[0] if ranked else None)
    if best is None or best.submitted is None:
        return None
    return Reference(attempt=best.id, step=best.submitted.step)


def _lesson(state: CampaignState, attempt: Attempt) -> tuple[Gain, Lesson] | None:
    """Return the lesson of a scored attempt with its evidence; None without a parent to compare."""
    outcome, parent = attempt.outcome, _parent(state, attempt)
    if outcome is None or attempt.rejected or parent is None or parent.outcome is None:
        return None
    gain = gain_over(attempt, parent, state)
    if gain is None:
        return None
    changes: tuple[int, int, tuple[str, ...]] = (0, 0, ())
    if parent.id in attempt.work.parents:  # else it was written anew
        changes = changed_lines(parent.outcome.code, outcome.code)
    added, removed, lines = changes
    return gain, Lesson(
        attempt=attempt.id,
        parent=parent.id,
        title=one_line(attempt.title, _TITLE_LENGTH),
        verdict=gain.verdict,
        gain=rounded(gain.difference, gain.error),
        error=rounded(gain.error, gain.error),
        paired=gain.paired,
        seconds=outcome.code_seconds,
        added=added,
        removed=removed,
        lines=lines,
        parts=_gain_by_part(outcome, parent.outcome),
        said=one_line(outcome.lesson or _first_sentence(outcome.report), _SAID_LENGTH),
    )


def _parent(state: CampaignState, attempt: Attempt) -> Attempt | None:
    """Return the scored attempt that another one is compared with.

    Without a reference, as in older logs, it is the first scored parent, or the baseline.
    """
    attempts = {each.id: each for each in state.works.attempts()}
    reference = attempt.work.reference
    baselines = [each.id for each in attempts.values() if each.work.is_baseline]
    names = [reference.attempt] if reference else [*attempt.work.parents, *baselines]
    known = (attempts[name] for name in names if name in attempts and name != attempt.id)
    return next((each for each in known if each.score is not None), None)


def changed_lines(before: str, after: str) -> tuple[int, int, tuple[str, ...]]:
    """Return how many lines were added and removed, and those of them that say most."""
    found = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    changes = [(line[0], line[1:].strip()) for line in list(found)[2:] if line[0] in "+-"]
    changes = [change for change in changes if change[1]]
    said = [(sign, text) for sign, text in changes if not _SAYS_NOTHING.match(text)]
    telling = [change for change in said if _TELLING.search(change[1])]
    shown = [*telling, *(change for change in said if change not in telling)][:_LINES]
    counts = Counter(sign for sign, _ in changes)
    return counts["+"], counts["-"], tuple(f"{sign} {text[:_LINE_LENGTH]}" for sign, text in shown)


def _gain_by_part(after: CodeOutcome, before: CodeOutcome) -> tuple[str, ...]:
    """Return the largest gains over the parts that both have, in words."""
    sign = 1 if after.score is None or after.score.value.maximize else -1
    known = _values(before)
    gains = {part: sign * (new - known[part]) for part, new in _values(after).items() if part in known}
    largest = sorted(gains, key=lambda part: -abs(gains[part]))[:_PARTS]
    return tuple(f"{by} {name} {gains[by, name]:+.2g}" for by, name in largest if gains[by, name])


def _values(outcome: CodeOutcome) -> Mapping[tuple[str, str], float]:
    return {(each.by, part.name): part.value for each in outcome.parts for part in each.worst}


def _alike(one: Lesson, other: Lesson) -> bool:
    """Whether two lessons are about the same parent and say nearly the same."""
    texts = (f"{each.title} {_added(each)}" for each in (one, other))
    same = (one.parent, one.verdict) == (other.parent, other.verdict)
    return same and fuzz.token_sort_ratio(*texts, processor=default_process) >= _SIMILAR


def _added(lesson: Lesson) -> str:
    return " ".join(line for line in lesson.lines if line.startswith("+"))


def _first_sentence(report: str) -> str:
    """Return the beginning of a report; older ones have no lesson."""
    return re.split(r"(?<=[.!?])\s", report.strip(), maxsplit=1)[0]
