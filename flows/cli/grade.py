"""`comind grade`: the true score of a submission to a past competition."""

import argparse
from pathlib import Path

from flows.cli.answer import Answer
from flows.cli.places import find_competition, find_project

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "Grade a submission to a past competition, and say where it stands on the leaderboard."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("competition", metavar="COMPETITION", help="a folder or a demo")
    parser.add_argument("submission", metavar="SUBMISSION", help="a CSV file")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")


def run(args: argparse.Namespace) -> Answer:
    """Grade the file; an invalid submission is an answer, not a failure."""
    from comind.evaluation.folder import load_competition
    from comind.evaluation.past import grade_past

    competition = load_competition(find_competition(args.competition, find_project(None)))
    grade = grade_past(competition, Path(args.submission))
    values = grade.model_dump()
    if not grade.valid:
        return Answer(values=values, text=f"invalid: {grade.message}\n")
    low, high = grade.interval or (grade.score, grade.score)
    lines = [f"{grade.metric} {grade.score:.5g}, 95 % interval [{low:.5g}, {high:.5g}]"]
    if grade.rank is not None and grade.win_rate is not None:
        medal = f", {grade.medal} medal" if grade.medal else ""
        lines.append(f"rank {grade.rank} of {grade.teams}, better than {grade.win_rate:.1%}{medal}")
    elif grade.message:
        lines.append(grade.message)
    return Answer(values=values, text="\n".join(lines) + "\n")
