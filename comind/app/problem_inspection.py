"""Report how the problem of a competition of programs is understood, before anything is run."""

from typing import Any

from comind.domain.competition import Competition
from comind.programs.problem_files import first_program
from comind.programs.program_runs import read_instances
from comind.programs.program_split import DEVELOPMENT, TEST, VALIDATION, cut_instances
from comind.session.choice import choose_sandbox


def inspect_problem(competition: Competition, seed: int) -> dict[str, Any]:
    """Return instances, limits and fields of a problem, as JSON values; its code runs in a sandbox.

    Raises:
        CompetitionError: its code fails, or it has too few instances.
        SandboxError: no sandbox works here.
    """
    assert competition.program is not None, "its submissions are programs"
    sandbox = choose_sandbox("auto", own_code=True)
    parts = cut_instances(read_instances(sandbox, competition.folder), seed, competition.folder)
    counts = {name: len(found) for name, found in parts.items()}
    first = parts[DEVELOPMENT][0]
    return {
        "competition": competition.id,
        "title": competition.title,
        "metric": competition.metric,
        "limits": competition.program.model_dump(),
        "instances": counts,
        "cases": sorted({each.case for found in parts.values() for each in found}),
        "fields": list(first.instance),
        "withheld": list(first.withheld or {}),
        "first_program": bool(first_program(competition.folder)),
    }


def problem_text(values: dict[str, Any]) -> str:
    """Return the same for people."""
    counts, limits = dict(values["instances"]), values["limits"]
    sealed = {name: counts.pop(name) for name in (VALIDATION, TEST)}
    further = sum(count for name, count in counts.items() if name != DEVELOPMENT)
    lines = [
        f"{values['title']}: programs, which define solve({', '.join(values['fields'])})",
        f"limits      {limits['seconds']:g} s of processor time, {limits['memory_mb']} MB an instance",
        f"instances   {counts[DEVELOPMENT]} for development",
        f"sealed      {sealed[VALIDATION]} for validation, {further} for folds, {sealed[TEST]} for test",
        f"cases       {', '.join(filter(None, values['cases'])) or 'one'}",
    ]
    if values["withheld"]:
        lines.append(f"withheld    {', '.join(values['withheld'])}: only the scorer gets them")
    first = "solver.py is the program to improve" if values["first_program"] else "none"
    lines.append(f"program     {first}")
    return "\n".join(lines) + "\n"
