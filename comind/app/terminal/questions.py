"""Ask on the terminal what the files of a competition do not decide."""

import sys

from pydantic import ValidationError

from comind.campaign.log.campaign_settings import CampaignSettings
from comind.competitions.download.findings import Question
from comind.errors import UsageError
from comind.metrics import meant_metrics
from comind.metrics.metric_names import nearest_metrics


def may_ask() -> bool:
    """Return whether a person is at the terminal to answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask_user(question: Question) -> str | list[str] | None:
    """Ask in one line, again after an unknown answer; None if the user leaves it open."""
    numbered = ", ".join(f"[{number}] {name}" for number, name in enumerate(question.choices, 1))
    several = ", several with commas" if question.several else ""
    while True:
        prompt = f"  {question.text}? {numbered}, or a name{several}; Enter leaves it open: "
        print(prompt, end="", file=sys.stderr, flush=True)
        given = [word.strip() for word in sys.stdin.readline().split(",") if word.strip()]
        if not given:
            return None
        named = [_choice(word, question.choices) for word in given]
        unknown = _unknown(question, named)
        if unknown is None:
            return named if question.several else named[0]
        print(f"  {unknown}", file=sys.stderr, flush=True)


def ask_dollars(question: str) -> float | str:
    """Ask for a cost budget, again after what is none; returns dollars, or `none`."""
    while True:
        prompt = f"  {question}. How many dollars at most? A number, or none: "
        print(prompt, end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            raise UsageError(question, hint="--max-usd X, or --max-usd none for no limit")
        try:
            found = CampaignSettings.model_validate({"max_usd": line.strip().lstrip("$")}).max_usd
        except ValidationError:
            continue
        assert found is not None
        return found


def _choice(word: str, choices: tuple[str, ...]) -> str:
    """Return the choice of a number, else the word itself."""
    number = int(word) if word.isdecimal() and word not in choices else 0
    return choices[number - 1] if 0 < number <= len(choices) else word


def _unknown(question: Question, named: list[str]) -> str | None:
    """Return why an answer is not possible, in one line; None if it is."""
    if not question.several and len(named) != 1:
        return "one name, please"
    if question.key == "metric":
        meant = meant_metrics(named[0])
        if len(meant) > 1:
            return f"{named[0]!r} may mean {' or '.join(meant)}"
        if meant:
            return None
        return f"{named[0]!r} is not known; the nearest: {', '.join(nearest_metrics(named[0]))}"
    wrong = [name for name in named if name not in question.choices]
    return f"{wrong[0]!r} is none of: {', '.join(question.choices)}" if wrong else None
