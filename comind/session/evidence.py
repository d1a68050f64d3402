"""Find evidence in a running cell's output and usage that it should be stopped; pure, without a model.

Evidence is a reason to ask a model whether to stop the cell. It is `certain` if no known case makes the
cell worth waiting for; only then may it stop a cell by itself.
"""

import math
import re
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from pydantic import Field

from comind.domain.value import Value
from comind.session.activity import Stall

_LINES = 200  # from the end of the output
_LINE_LENGTH = 300


class Symptom(StrEnum):
    """Observed behaviour that counts against a running cell."""

    NOT_A_NUMBER = "not-a-number"
    SAME_ERROR = "same-error"
    NO_TIME = "no-time"
    SILENCE = "silence"
    IDLE = "idle"
    SPINNING = "spinning"


STALLED = frozenset({Symptom.IDLE, Symptom.SPINNING})
"""Symptoms of a cell that leaves no trace, so that its code has to show whether it can end."""


class Evidence(Value):
    """One piece of evidence against a running cell, and the line that shows it."""

    symptom: Symptom = Field(alias="kind")
    says: str
    quote: str = ""
    certain: bool = False


@dataclass(frozen=True, slots=True)
class CellSnapshot:
    """The state of a running cell at one moment.

    `left` are the seconds to its deadline, `silent` those since its last output. A cell that is idle
    for `idle_limit` seconds is lost; about one that leaves no trace for `ask_after` a model is asked.
    """

    code: str
    output: str
    seconds: float
    left: float
    silent: float = 0.0
    stall: Stall = Stall()  # noqa: RUF009 - immutable
    idle_limit: float = math.inf
    ask_after: float = math.inf

    @property
    def lines(self) -> list[str]:
        """The last non-empty lines of output, each truncated."""
        lines = self.output.splitlines()[-_LINES:]
        return [line[:_LINE_LENGTH] for line in lines if line.strip()]


def find_evidence(snapshot: CellSnapshot) -> tuple[Evidence, ...]:
    """Return all evidence against a running cell."""
    lines = snapshot.lines
    found = (
        _not_a_number(lines),
        _no_time(lines, snapshot),
        _same_error(lines),
        _silence(lines, snapshot),
        _idle(snapshot),
        _spinning(snapshot),
    )
    return tuple(each for each in found if each is not None)


# --- a loss or a score that is not a number -------------------------------------------------------

_NAN_ASKS = 3
_NAN_CERTAIN = 5
_REPORT = re.compile(
    r"(?<![\w'])(?P<name>[\w'@/.-]{1,40})\"?(?P<sign>\s?[:=]\s*|\s)(?:tensor\(|np\.float\d+\()?"
    r"(?P<value>[-+]?(?:nan|inf(?:inity)?|\d+(?:\.\d*)?(?:e[-+]?\d+)?))(?![\w.])",
    re.IGNORECASE,
)
_LOSS = re.compile(r"loss|rmsl?e|mse|mae|mape|nll|perplexity", re.IGNORECASE)
_SCORE = re.compile(
    r"score|auc|acc(?:uracy)?$|f1|r2|corr|kappa|ndcg|metric|error|objective", re.IGNORECASE
)
_COUNTER = re.compile(r"epoch|step|iter|batch|round|^\s*\[?\d+[\]/:]", re.IGNORECASE)
# With several runs in one cell, one may diverge and the next converge.
_SEVERAL = re.compile(
    r"(?<![a-z])(?:trial|fold|seed|config|candidate|grid|sweep|search|tuning|cv)(?![a-z])", re.IGNORECASE
)
_SETTING = re.compile(r"(?<![a-z])(?:lr|learning.rate|params|alpha)(?![a-z])", re.IGNORECASE)


def _not_a_number(lines: list[str]) -> Evidence | None:
    """Find a loss or score whose latest reports are all NaN or infinite."""
    for names in (_LOSS, _SCORE):
        reports = [(line, report) for line in lines if (report := _reported(line, names))]
        bad = 0
        for _, report in reversed(reports):
            # A line with a finite loss has not diverged, and other names are another report.
            if any(report.values()) or report.keys() != reports[-1][1].keys():
                break
            bad += 1
        if bad >= _NAN_ASKS:
            name = ", ".join(reports[-1][1])
            return Evidence(
                symptom=Symptom.NOT_A_NUMBER,
                says=f"the last {bad} reports of {name} are not a number",
                quote=reports[-1][0].strip(),
                certain=names is _LOSS and bad >= _NAN_CERTAIN and not _several_runs(lines),
            )
    return None


def _reported(line: str, names: re.Pattern[str]) -> dict[str, bool]:
    """Return the losses or scores that a line reports, and whether each is finite."""
    counted = _COUNTER.search(line) is not None
    return {
        found["name"].strip("'"): found["value"].lstrip("+-")[0].isdigit()
        for found in _REPORT.finditer(line)
        # Without a colon, `loss NaN` may be a row of a table; with a counter it is a report.
        if names.search(found["name"].strip("'")) and (found["sign"].strip() or counted)
    }


def _several_runs(lines: list[str]) -> bool:
    return any(
        _SEVERAL.search(line) or (_SETTING.search(line) and not _reported(line, _LOSS)) for line in lines
    )


# --- more time needed than is left ----------------------------------------------------------------

_RECENT = 10
_WARM_UP_SECONDS = 60.0
_TIME = (
    r"(?P<time>(?:\d+\s*d(?:ays?)?,?\s*)?\d{1,3}:\d\d(?::\d\d)?"
    r"|(?:\d+(?:\.\d+)?\s*(?:d(?:ays?)?|h(?:ours?|rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)"
    r"(?![a-z]),?\s*){1,4})"
)
_STATED = (
    re.compile(
        rf"\b(?:eta|remaining(?: time)?|time (?:left|remaining))\b\s*[:=~]?\s*{_TIME}",
        re.IGNORECASE,
    ),
    re.compile(rf"\[(?:\d+:)?\d+:\d\d<{_TIME}"),  # tqdm
)
_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([dhms])[a-z]*", re.IGNORECASE)
_MAY_END_EARLY = re.compile(r"early|patience|callback|od_|\bbreak\b|time", re.IGNORECASE)


def _parse_duration(text: str) -> float:
    """Return the seconds in `1:02:03`, `2 days, 3:00`, `1h 5m` or `12.5 minutes`."""
    days, _, clock = text.rpartition("d") if ":" in text else ("", "", text)
    if ":" not in text:
        return sum(float(number) * _UNITS[unit.lower()] for number, unit in _PART.findall(text))
    seconds = 0
    for part in re.findall(r"\d+", clock):
        seconds = 60 * seconds + int(part)
    return seconds + 86400.0 * (int(re.findall(r"\d+", days)[0]) if days else 0)


def _no_time(lines: list[str], snapshot: CellSnapshot) -> Evidence | None:
    """Compare the remaining time that the program prints with the time to its deadline."""
    for line in reversed(lines[-_RECENT:]):
        stated = [found["time"] for pattern in _STATED for found in pattern.finditer(line)]
        if not stated:
            continue
        needed = _parse_duration(stated[-1])
        if needed <= 1.25 * snapshot.left + 60:
            return None
        return Evidence(
            symptom=Symptom.NO_TIME,
            says=f"it says that it needs {needed:.0f} s more, and {snapshot.left:.0f} s are left",
            quote=line.strip(),
            certain=needed > 2 * snapshot.left + 300
            and snapshot.seconds >= _WARM_UP_SECONDS
            and _MAY_END_EARLY.search(snapshot.code) is None,
        )
    return None


# --- the same error, and silence ------------------------------------------------------------------

_SAME_ERROR = 10
_STILL_GOING_ON = 20
_COMPLAINT = re.compile(r"\w(?:Error|Exception|Warning)\b|^\s*(?:ERROR|FATAL|CRITICAL)\b")
_PROMISE = re.compile(
    r"^[ \t]+.*\bprint\(|verbose\w*\s*=\s*(?:True|[1-9])|\btqdm\b|log_evaluation|progress", re.MULTILINE
)
_SILENCE_SECONDS = 600.0


def _same_error(lines: list[str]) -> Evidence | None:
    """Find an error or warning that is printed again and again, ignoring numbers."""
    complaints = [(re.sub(r"\d+", "#", line.strip()), line) for line in lines if _COMPLAINT.search(line)]
    recent = {re.sub(r"\d+", "#", line.strip()) for line in lines[-_STILL_GOING_ON:]}
    for complaint, times in Counter(complaint for complaint, _ in complaints).most_common():
        if times >= _SAME_ERROR and complaint in recent:
            quote = next(line for same, line in reversed(complaints) if same == complaint)
            says = f"the same complaint was printed {times} times"
            return Evidence(symptom=Symptom.SAME_ERROR, says=says, quote=quote.strip())
    return None


def _silence(lines: list[str], snapshot: CellSnapshot) -> Evidence | None:
    """Find that a program that prints progress has printed nothing for long."""
    long = max(60.0, min(_SILENCE_SECONDS, (snapshot.seconds + snapshot.left) / 4))
    if snapshot.silent < long or not _PROMISE.search(snapshot.code):
        return None
    says = f"its code prints as it goes, but nothing was printed for {snapshot.silent:.0f} s"
    return Evidence(symptom=Symptom.SILENCE, says=says, quote=lines[-1].strip() if lines else "")


# --- nothing done, and nothing to show for what is done -------------------------------------------


def _idle(snapshot: CellSnapshot) -> Evidence | None:
    """Find that a cell waits: nothing in its sandbox can end a wait that computes nothing."""
    seconds = snapshot.stall.idle
    if seconds < snapshot.idle_limit:
        return None
    says = (
        f"for {seconds:.0f} s it printed nothing, used no processor time, and changed neither memory "
        "nor files: it waits for something that does not come, such as a lock, input or a long sleep"
    )
    return Evidence(symptom=Symptom.IDLE, says=says, certain=True)


def _spinning(snapshot: CellSnapshot) -> Evidence | None:
    """Find that a cell computes without any trace; a long fit in compiled code may look the same."""
    stall = snapshot.stall
    if stall.idle or stall.unchanged < snapshot.ask_after:
        return None
    says = (
        f"for {stall.unchanged:.0f} s it has used {stall.cores:.2g} cores, but it printed nothing and "
        "changed neither memory nor files"
    )
    return Evidence(symptom=Symptom.SPINNING, says=says)
