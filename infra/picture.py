"""Draw what the terminal shows of a campaign as an SVG.

The live view renders the campaign's logs into a terminal in memory; of its control codes only those of
a live table are handled: colours, line breaks, cursor up and erase line. Lines on model calls, sessions
and ends of work are left out, the others are sorted by time, and colours are added.
"""

import contextlib
import os
import re
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from comind.app.terminal.campaign_progress import show_progress
from comind.campaign.log.campaign_folders import CampaignFolder

COLUMNS = 120

_CONTROL = re.compile(r"\x1b\[(?P<up>\d*)A|(?P<erase>\x1b\[2K)|\x1b\[\?25[lh]|(?P<move>[\r\n])")
_THEME = TerminalTheme(
    background=(13, 17, 23),
    foreground=(230, 237, 243),
    normal=[
        (110, 118, 129),
        (255, 123, 114),
        (63, 185, 80),
        (210, 153, 34),
        (88, 166, 255),
        (188, 140, 255),
        (57, 197, 207),
        (177, 186, 196),
    ],
)
_EVENT = re.compile(r"(?:\d+:)?\d\d:\d\d  ")
_MINOR = re.compile(
    r"^[\d:]+  (?:think-\d+: (?!no reply)|[a-z]+-\d+: (?:session in|done)|(?:fold|refit)-\d+: [fr])"
)
_STYLES = {
    "bright_black": r"^(?:\d+:)?\d\d:\d\d  ",
    "cyan": r"\b(?:attempt|fold|refit|blend|think)-[\d-]+",
    "green": r"\b(?:rmse|accuracy) [\d.]+",
    "bright_black ": r"\[[\d.]+, [\d.]+\]",
    "red": r"\bfailed\b.*",
    "yellow": r"WARNING.*",
    "bold magenta": r"\b(?:final pick|no blend|blend:|ended:)",
}


class _Terminal(StringIO):
    """A text stream that accepts control codes."""

    def isatty(self) -> bool:
        """Return True, so that the live view draws its table."""
        return True


def screen(output: str) -> list[str]:
    """Return the lines that a terminal shows after `output`, with their colour codes."""
    lines, row, position = [""], 0, 0
    for found in (*_CONTROL.finditer(output), None):
        lines[row] += output[position : found.start() if found else len(output)]
        if found is None:
            break
        position = found.end()
        if found["up"] is not None:
            row = max(0, row - int(found["up"] or 1))
        elif found["erase"]:
            lines[row] = ""
        elif found["move"] == "\n":
            row += 1
            lines += [""] * (row == len(lines))
    return lines


def shown(run: Path) -> str:
    """Return the live view's output for a finished campaign, with its control codes."""
    os.environ |= {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": "100"}
    terminal = _Terminal()
    with contextlib.redirect_stderr(terminal), show_progress(CampaignFolder(run)):
        pass
    return terminal.getvalue()


def selected(lines: list[str]) -> list[str]:
    """Return the lines worth a picture: events by their time, then the table."""
    events, rest = [], []
    for line in filter(str.strip, lines):
        plain = re.sub(r"\x1b\[[\d;]*m", "", line)
        if _EVENT.match(plain):
            events.append(plain)
        elif events and not rest and not plain.startswith("attempt  "):
            events[-1] += f"\n       {plain}"  # the rest of a long line
        else:
            rest.append(line)
    return [*sorted((each for each in events if not _MINOR.search(each)), key=_clock), "", *rest]


def _clock(event: str) -> int:
    """Return the seconds that an event begins with."""
    seconds = 0
    for part in event.split(" ", 1)[0].split(":"):
        seconds = seconds * 60 + int(part)
    return seconds


def svg(lines: list[str], title: str) -> str:
    """Return an SVG of terminal lines that refers to no other file."""
    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True)
    for line in lines:
        text = Text.from_ansi(line)
        for style, pattern in _STYLES.items():
            text.highlight_regex(pattern, style)
        console.print(text, soft_wrap=True)
    drawn = console.export_svg(title=title, theme=_THEME)
    return re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.DOTALL)
