"""What a campaign's blend is worth on true answers: recorded campaigns, judged again by several rules.

`python benchmarks/closing.py --data DATA PROJECT ...` reads the finished campaigns of each project,
whose competitions lie in DATA with their answers. Regret is how much worse a rule's result is on the
test rows than the best combination that was possible: greedy selection of the same steps on the true
answers. All are as they were scored, before a refit; in standard errors of the best attempt's
validation score.
"""

import argparse
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from comind.campaign.closing.blend_plan import Offer, offers
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.loop import read_state
from comind.competitions.competition_folder import load_competition
from comind.errors import SubmissionError
from comind.grading.blending.selection import CandidatePool, greedy_weights, supported_means
from comind.grading.grader_port import BlendReport
from comind.grading.grader_server import SplitGrader
from comind.grading.true_answers import Answers
from comind.splits.split_folder import SplitFolder

CLEAR = 1.0
"""Standard errors that a gain had to exceed until out-of-fold predictions counted."""


class Outcome(NamedTuple):
    """Regret by rule, and seconds of the grader."""

    regret: dict[str, float]
    seconds: float


class TrueScores:
    """The candidates of a campaign's blend on the test rows."""

    def __init__(self, offered: Offer, project: ProjectFolder, name: str, answers: Answers) -> None:
        metric = answers.metric
        place = project.campaign(name)
        tables = [
            answers.schema.read(place.work(each.attempt.id).test_submission(each.submitted.step))
            for each in offered.steps
        ]
        self._pool = CandidatePool(metric, answers.truth, tables, supported_means(metric))
        self._rows = np.arange(len(answers.truth))

    def of(self, report: BlendReport) -> float:
        """Return the score of a blend, more is better."""
        return self._pool.score(self._pool.selection_of(report), self._rows)

    def best_single(self) -> float:
        """Return the score of the step that is best on validation."""
        mean = "mean" if "mean" in self._pool.means else self._pool.means[0]
        first = self._pool.shared_weights(mean, np.eye(self._pool.size, dtype=int)[0])
        return self._pool.score(first, self._rows)

    def best_possible(self) -> float:
        """Return the score of the best combination that greedy selection on the truth finds."""
        found = []
        for mean in self._pool.means:

            def scores(tried: list[np.ndarray], mean: str = mean) -> list[float]:
                return self._pool.score_all(
                    [self._pool.shared_weights(mean, each) for each in tried], self._rows
                )

            counts = greedy_weights(scores, range(self._pool.size), self._pool.size, lambda _: True)
            found.append(self._pool.score(self._pool.shared_weights(mean, counts), self._rows))
        return max(found)


def outcome(project: ProjectFolder, name: str, data: Path) -> Outcome | str:
    """Return what the rules lose on a campaign, or why nothing can be said."""
    state = read_state(project.campaign(name))
    assert state.split is not None
    made = offers(state, project.campaign(name))
    if not made:
        return "fewer than two scored steps"
    grader = SplitGrader(SplitFolder(project.splits / state.split.key))
    begun = time.monotonic()
    stacked, usual = (grader.blend(each.asked, each.folds) for each in (made[0], made[-1]))
    seconds = time.monotonic() - begun
    averaged = grader.blend([each._replace(out_of_fold=()) for each in made[-1].asked], made[-1].folds)
    if averaged.gain is None or stacked.gain is None:
        return averaged.reason or stacked.reason
    answers = Answers.of_test(load_competition(data / state.spec.competition))
    true, of_last = (TrueScores(each, project, name, answers) for each in (made[0], made[-1]))
    single, best = true.best_single(), max(true.best_possible(), of_last.best_possible())
    clear = not averaged.reason and averaged.gain.difference > CLEAR * averaged.gain.standard_error
    average = of_last.of(averaged)
    fallback = single if usual.reason else of_last.of(usual)
    scores = {
        "best step": single,
        "average, if clearly better": average if clear else single,
        "average, if not expected to lose": single if averaged.reason else average,
        "stack or average, if not expected to lose": fallback if stacked.reason else true.of(stacked),
    }
    error = made[0].steps[0].score.interval.standard_error
    return Outcome({rule: (best - score) / error for rule, score in scores.items()}, seconds)


def campaigns(projects: Sequence[Path]) -> Iterator[tuple[ProjectFolder, str, CampaignState]]:
    """Yield the finished campaigns of projects."""
    for project in map(ProjectFolder, projects):
        for name in project.campaigns():
            state = read_state(project.campaign(name))
            if state.picked is not None and state.split is not None:
                yield project, name, state


def main() -> None:
    """Print a line for each campaign, and the means."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("projects", nargs="*", type=Path)
    parser.add_argument("--data", type=Path)
    given = parser.parse_args()
    if given.data is None:
        print("closing: name the folder of the competitions with --data, and projects")
        return
    found: list[Outcome] = []
    for project, name, state in campaigns(given.projects):
        try:
            came = outcome(project, name, given.data)
        except SubmissionError as error:
            came = str(error)
        if isinstance(came, str):
            print(f"{name}: {came}")
            continue
        if not found:
            print(
                f"| campaign | {' | '.join(came.regret)} | grader |\n{'|---' * (len(came.regret) + 2)}|"
            )
        cells = [f"{value:.2f}" for value in came.regret.values()]
        share = came.seconds / max(1.0, state.spend.seconds)
        print(f"| {name} | {' | '.join(cells)} | {came.seconds:.1f} s, {share:.1%} |", flush=True)
        found.append(came)
    if found:
        report(found)


def report(found: Sequence[Outcome]) -> None:
    """Print means with standard errors, and what the best rule of each half loses on the other one."""
    rules = list(found[0].regret)
    table = np.array([[each.regret[rule] for rule in rules] for each in found])
    errors = table.std(axis=0, ddof=1) / math.sqrt(len(table)) if len(table) > 1 else 0 * table[0]
    cells = [f"{mean:.2f} ± {error:.2f}" for mean, error in zip(table.mean(axis=0), errors, strict=True)]
    print(f"| **mean** | {' | '.join(cells)} | |")
    apart = table - table[:, [1]]
    error = apart.std(axis=0, ddof=1) / math.sqrt(len(table)) if len(table) > 1 else 0 * apart[0]
    for rule, mean, spread in zip(rules, apart.mean(axis=0), error, strict=True):
        print(f"{rule}: {mean:+.2f} ± {spread:.2f} beside {rules[1]}")
    for one, other in ((table[::2], table[1::2]), (table[1::2], table[::2])):
        if len(one) and len(other):
            best = int(one.mean(axis=0).argmin())
            means = other.mean(axis=0)
            print(f"best on one half: {rules[best]}; it loses {means[best]:.2f} on the other, "
                  f"where the least is {means.min():.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
