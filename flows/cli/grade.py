"""`comind grade`: the true score of a submission to a past competition."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from comind.errors import SubmissionError
from flows.cli.answer import Answer
from flows.cli.places import find_competition, find_project

if TYPE_CHECKING:
    from comind.evaluation.benchmark.prepared import PreparedFolder

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "Grade a submission to a past competition, and say where it stands on the leaderboard."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "competition", metavar="COMPETITION", help="a folder, one that MLE-bench prepared, or a demo"
    )
    parser.add_argument("submission", metavar="SUBMISSION", help="a CSV file")
    parser.add_argument(
        "--mode",
        choices=("kaggle", "mlebench"),
        default="kaggle",
        help="for data that MLE-bench prepared: judge as stated, or as its graders do",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")


def run(args: argparse.Namespace) -> Answer:
    """Grade the file; an invalid submission is an answer, not a failure."""
    from comind.evaluation.benchmark.prepared import PreparedFolder
    from comind.evaluation.folder import load_competition
    from comind.evaluation.past import grade_past

    folder = find_competition(args.competition, find_project(None))
    prepared = PreparedFolder.find(folder)
    if prepared is not None:
        return _grade_prepared(prepared, args)
    competition = load_competition(folder)
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
    lines += [f"note: {note}" for note in grade.notes]
    return Answer(values=values, text="\n".join(lines) + "\n")


def _grade_prepared(prepared: "PreparedFolder", args: argparse.Namespace) -> Answer:
    """Grade a submission to data that MLE-bench prepared."""
    from comind.evaluation.benchmark.registry import Mode
    from comind.evaluation.tables import read_table
    from flows.reporting import grade_prepared

    read_table(Path(args.submission), SubmissionError)
    fields = grade_prepared(prepared, Path(args.submission), Mode(args.mode))
    medal = next((m for m in ("gold", "silver", "bronze") if fields[f"{m}_medal"]), None)
    values = {
        "score": fields["score"],
        "metric": fields["metric"],
        "maximize": not fields["is_lower_better"],
        "valid": fields["valid_submission"],
        "message": fields["message"],
        **{name: fields.get(name) for name in ("rank", "teams", "win_rate")},
        "medal": medal,
        "above_median": fields["above_median"] if fields["valid_submission"] else None,
        "mode": args.mode,
    }
    if not values["valid"]:
        return Answer(values=values, text=f"invalid: {values['message']}\n")
    place = f", rank {values['rank']} of {values['teams']}" if values["rank"] else ""
    told = f", {medal} medal" if medal else ", no medal"
    return Answer(values=values, text=f"{values['metric']} {values['score']:.5g}{place}{told}\n")
