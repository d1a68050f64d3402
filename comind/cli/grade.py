"""Grade a submission on the true answers of a past competition, with its leaderboard rank.

An invalid submission is a result with exit code 0, and a line on stderr; with `--strict` it is an error.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from comind.app.params import read_params
from comind.app.paths import find_competition, find_project
from comind.cli.command import CommandResult
from comind.competitions.competition_folder import load_competition
from comind.competitions.download.submission_file import submission_as_csv
from comind.errors import SubmissionError, UsageError
from comind.grading.benchmarks import KAGGLE_RULES, find_prepared
from comind.grading.past_competition import PastGrade, grade_past
from comind.programs.program_answers import open_answers
from comind.tables.csv_tables import read_table


def run(args: argparse.Namespace) -> CommandResult:
    """Run the command."""
    project = find_project(None)
    folder = find_competition(args.competition, project)
    prepared = find_prepared(folder)
    if prepared is None and args.mode != KAGGLE_RULES:
        raise UsageError(f"--mode {args.mode}: {folder} has no data that {args.mode} prepared")
    loaded = None if prepared is not None else load_competition(folder)
    if loaded is not None and loaded.program is not None:
        seed = read_params(project).prepare.seed
        grade = open_answers(loaded, seed).grade(Path(args.submission))
        return _result(args, grade, grade.model_dump(), _lines)
    with submission_as_csv(Path(args.submission)) as submission:
        if prepared is not None:
            read_table(submission, SubmissionError)
            grade = prepared.grade(submission, args.mode)
            values, text = grade.model_dump() | {"mode": args.mode}, _one_line
        else:
            assert loaded is not None
            grade = grade_past(loaded, submission)
            values, text = grade.model_dump(), _lines
    return _result(args, grade, values, text)


def _result(
    args: argparse.Namespace,
    grade: PastGrade,
    values: dict[str, Any],
    text: Callable[[PastGrade], str],
) -> CommandResult:
    if args.strict and not grade.valid:
        return CommandResult.failure(SubmissionError(f"{args.submission}: {grade.message}"), values)
    if not (grade.valid or args.json):
        print(f"invalid: {grade.message}", file=sys.stderr)
    return CommandResult(values=values, text=text(grade) if grade.valid else "")


def _lines(grade: PastGrade) -> str:
    low, high = grade.interval or (grade.score, grade.score)
    lines = [f"{grade.metric} {grade.score:.5g}, 95 % interval [{low:.5g}, {high:.5g}]"]
    if grade.rank is not None and grade.win_rate is not None:
        medal = f", {grade.medal} medal" if grade.medal else ""
        lines.append(f"rank {grade.rank} of {grade.teams}, better than {grade.win_rate:.1%}{medal}")
    elif grade.message:
        lines.append(grade.message)
    lines += [f"note: {note}" for note in grade.notes]
    return "\n".join(lines) + "\n"


def _one_line(grade: PastGrade) -> str:
    place = f", rank {grade.rank} of {grade.teams}" if grade.rank else ""
    return f"{grade.metric} {grade.score:.5g}{place}, {grade.medal or 'no'} medal\n"
