"""Show what a campaign did: work, calls and cells; of a step, prompt, reply, code, output and score."""

import argparse
from collections.abc import Iterator
from typing import Any

from comind.app.cut_logs import check_logs_whole
from comind.app.paths import find_project
from comind.campaign.log.campaign_folders import ProjectFolder, unknown_campaign
from comind.campaign.reports.campaign_view import NOT_ENDED
from comind.campaign.reports.work_listing import list_campaign, list_step, list_work
from comind.cli.command import CommandResult
from comind.domain.value import one_line
from comind.errors import UsageError
from comind.following.event_text import describe_submission
from comind.following.history import submissions_of
from comind.reporting.text_table import text_table
from comind.session.output import plain_text
from comind.system.plurals import quantity

_TITLE, _RESULT = 44, 60  # characters
_NUMBERS = ("steps", "seconds", "tokens", "$")


def run(args: argparse.Namespace) -> CommandResult:
    """Run the command."""
    project = find_project(args.out)
    here = ProjectFolder(project)
    given: list[str] = args.campaign.strip("/").removeprefix("runs/").split("/")
    given += [each for each in (args.work, args.step) if each is not None]
    name, inside = given[0], given[1:]
    if args.prompt and (args.json or len(inside) < 2):  # noqa: PLR2004 - work and step
        mode = "with --json, which has all messages" if args.json else "without a STEP"
        raise UsageError(f"--prompt: has no effect {mode}")
    if name not in here.campaigns():
        raise unknown_campaign(here.runs, name, here.campaigns())
    check_logs_whole(project, name)
    folder = here.campaign(name)
    if len(inside) > 1:
        values = list_step(folder, inside[0], _number(inside[1:]))
        return CommandResult(values=values, text=_lines(_step_lines(values, whole=args.prompt)))
    if inside:
        values = list_work(folder, inside[0])
        return CommandResult(values=values, text=_lines(_work_lines(values)))
    values = list_campaign(folder) | {"submissions": submissions_of(project, name)}
    return CommandResult(values=values, text=_lines(_campaign_lines(values)))


def _number(given: list[str]) -> int:
    """Return the number of a step, the last argument.

    Raises:
        UsageError: it is no number, or more follows.
    """
    if len(given) > 1 or not given[0].isdecimal():
        raise UsageError(f"{' '.join(given)} is not the number of a step", hint="see comind show --help")
    return int(given[0])


def _lines(lines: Iterator[str]) -> str:
    """Return lines as printable text; control codes of models and outputs are dropped."""
    return plain_text("\n".join(lines)) + "\n"


def _campaign_lines(values: dict[str, Any]) -> Iterator[str]:
    about = "{campaign}: {agent} on {competition}, model {model}, seed {seed}"
    yield about.format(**values)
    spent = f"{values['seconds']:.0f} s, {values['tokens']:,} tokens, {_usd(values)}"
    yield f"{values['ended'] or NOT_ENDED}; {spent}"
    if values["picked"]:
        yield f"{values['choice']}, {values['result']}"
    yield from (f"submitted: {describe_submission(each)}" for each in values["submissions"])
    yield ""
    rows: list[tuple[str, ...]] = [("work", "what", "result", *_NUMBERS)]
    rows += [_work_row(each) for each in values["work"]]
    yield text_table(rows, numbers=len(_NUMBERS))


def _work_row(work: dict[str, Any]) -> tuple[str, ...]:
    title = f"{work['kind']}: {work['title']}" if work["title"] else work["kind"]
    numbers = str(work["steps"] or work["calls"]), f"{work['seconds']:.0f}", f"{work['tokens']:,}"
    return work["work"], one_line(title, _TITLE), one_line(work["result"], _RESULT), *numbers, _usd(work)


def _work_lines(values: dict[str, Any]) -> Iterator[str]:
    yield f"{values['work']}: {values['kind']} {values['title']}".rstrip()
    for name in ("parents", "sources"):
        if values.get(name):
            yield f"{name}: {', '.join(values[name])}"
    yield values["result"]
    calls = f"{values['calls']} calls, {values['tokens']:,} tokens, {_usd(values)}"
    yield f"{values['seconds']:.0f} s, {calls}"
    for name in ("method", "report", "traceback"):
        if values.get(name):
            yield from ("", f"{name}:", values[name])
    yield ""
    for event in values["events"]:
        yield _call_text(event) if event["event"] == "call" else _cell_text(event)


def _call_text(call: dict[str, Any]) -> str:
    count = call["messages"] if isinstance(call["messages"], int) else len(call["messages"])
    spent = f"{call['tokens']:,} tokens, {_usd(call)}, {call['seconds']:.0f} s"
    cost = f"{quantity(count, 'message')}, {spent}"
    retried = f", {call['retries']} retries" if call["retries"] else ""
    failed = f": {call['failure']}" if call["failure"] else ""
    return f"  call {call['number']}  {call['role']}, {call['model']}: {cost}{retried}{failed}"


def _cell_text(cell: dict[str, Any]) -> str:
    took = "" if cell["seconds"] is None else f" {cell['seconds']:.1f} s"
    on_sample = f"sample {cell['sample_score']}" if cell["sample_score"] else ""
    found = cell["score"] or on_sample or cell["refused"] or cell["error"] or ""
    found += " (depends on rows of the sample)" if cell["score"] and cell["uses_sample"] else ""
    found += f", rejected {cell['rejected']}" if cell["rejected"] else ""
    goal = one_line(cell["goal"], _RESULT)
    return f"step {cell['step']}  {cell['status']}{took}  {goal}{f'  {found}' if found else ''}"


def _step_lines(values: dict[str, Any], *, whole: bool) -> Iterator[str]:
    for call in values["calls"]:
        yield _call_text(call).strip()
        new = [each for each in call["messages"] if whole or not each["sent_before"]]
        left_out = len(call["messages"]) - len(new)
        if left_out:
            yield f"({left_out} messages were sent before; --prompt prints them)"
        for message in new:
            yield from ("", f"--- {message['role']} ---", message["content"])
        if call["reply"] is not None:
            yield from ("", f"--- reply ({call['finish']}) ---", call["reply"])
        if call["verdict"]:
            yield f"verdict: {call['verdict']}"
        yield ""
    for cell in values["cells"]:
        yield from (_cell_text(cell), "", "--- code ---", cell["code"])
        for name in ("output", "error"):
            if cell.get(name):
                yield from ("", f"--- {name} ---", cell[name].rstrip("\n"))
        yield ""


def _usd(entry: dict[str, Any]) -> str:
    cents = round(entry["usd"], 2)
    return f"${cents:.2f}" if cents or not entry["usd"] else f"${entry['usd']:.4f}"
