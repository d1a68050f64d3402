"""Campaigns on recorded replies of a strong model, for competitions whose data lie in a folder.

`python benchmarks/recorded.py --data DATA --work WORK [--minutes 10] [COMPETITION ...]` makes a script
of rules from each folder in `replies/`, runs `comind solve` with it in a project of its own below WORK,
and prints what came of it: attempts, folds, blend, pick, refit, and a table. A project that has a
finished campaign is not run again. Nothing is graded on true answers here.

Of four solutions two are drafts of the first round and one is of the second; the one that builds on
another follows once that is scored. The table tells expected scores over the first validation rows and
all folds (`comind/campaign/closing/expected_score.py`): of the best attempt by these, of the best by
the first validation rows alone, of what the rule `simplest` would deliver, and of what was delivered.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from comind.app.result import result_of
from comind.campaign.closing.final_pick import pick_simplest
from comind.campaign.log.campaign_events import FinalPicked, Ranked
from comind.campaign.log.campaign_folders import CampaignFolder, ProjectFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.loop import read_state
from comind.domain.draft import Operator

REPLIES = Path(__file__).parent / "replies"
BUILDS_ON = "Builds on "
FIRST = "attempt-001"
OVER = "# goal: Nothing more: what is left is for the report\n"
RATINGS = {"novelty": 5, "feasibility": 9, "effectiveness": 7, "efficiency": 7, "confidence": 8}
EMPTY_ROUNDS = 2
HEADS = (
    *("competition", "best attempt", "best on validation", "simplest", "delivered", "delivered is"),
    *("folds", "blend", "sure", "shrinkage", "refit", "seconds"),
)
LEVEL = 1e-12
"""Differences of scores below this are none."""


@dataclass(frozen=True)
class Solution:
    """One file of replies: a draft and the cells that implement it."""

    name: str
    title: str
    method: str
    cells: tuple[str, ...]

    @property
    def base(self) -> str:
        """Name of the solution that it builds on; empty for none."""
        return self.method.removeprefix(BUILDS_ON).split()[0].rstrip(":,") if self.builds else ""

    @property
    def builds(self) -> bool:
        """Whether it builds on another solution."""
        return self.method.startswith(BUILDS_ON)


def read_solution(path: Path) -> Solution:
    """Read a file in the percent format: comments with title and method, then cells with their goals."""
    head, *cells = path.read_text(encoding="utf-8").split("# %% ")
    lines = [line.removeprefix("#").strip() for line in head.splitlines()]
    title, *method = [line for line in lines if line]
    goals = (cell.partition("\n") for cell in cells)
    return Solution(
        name=path.stem,
        title=title,
        method=" ".join(method),
        cells=tuple(f"# goal: {goal}\n{code.strip()}\n" for goal, _, code in goals),
    )


def read_solutions(folder: Path) -> list[Solution]:
    """Return the solutions of a competition: what the last one builds on first, and that one last."""
    found = [read_solution(path) for path in sorted(folder.glob("*.py"))]
    last = next(each for each in found if each.builds)
    return sorted(found, key=lambda each: (each is last, each.name != last.base, each.name))


def rules_of(folder: Path, cells: Path) -> list[dict[str, Any]]:
    """Return the rules of a scripted model that answers with the solutions; writes their cells.

    Of two rules that fit the first answers, so what is asked for later stands first.
    """
    solutions = read_solutions(folder)
    attempts = [rule for each in reversed(solutions) for rule in rules_of_attempt(each, cells)]
    return [*attempts, *_drafts(*solutions), *rules_of_reading(folder, solutions[-1].method)]


def rules_of_reading(folder: Path, approach: str) -> list[dict[str, Any]]:
    """Return the rules of what is asked beside drafts and cells; ideas follow one approach."""
    ideas = [line.partition(". ")[2] for line in _lines(folder / "ideas.md")]
    rated = {"feasibility": 8, "potential": 7, "agreement": 7}
    kept = [{"text": text, "made_from": [f"N{n}"], **rated} for n, text in enumerate(ideas, start=1)]
    path = {"approach": approach, "ideas": [{"text": text} for text in ideas]}
    summary = " ".join(_lines(folder / "analysis.md"))
    analysis = {"summary": summary, **RATINGS, "reasons": "Scored here on shared folds.", "ideas": ideas}
    return [
        {"reply": "Analysis", "say": analysis},
        {"reply": "Brainstorm", "say": {"paths": [path]}},
        {"reply": "Selection", "say": {"ideas": kept}},
        {"reply": "Preparation", "say": {"code": ""}},
        {"reply": "MonitorVerdict", "say": {"stop": False, "reason": "Nothing says that it is lost."}},
        {"reply": "CritiqueReply", "say": {"findings": []}},
    ]


def _drafts(
    base: Solution, second: Solution, third: Solution, last: Solution
) -> Iterator[dict[str, Any]]:
    """Yield what is drafted once the base is scored, while it still runs, and at first."""
    extending = {**draft_of(last, "extend"), "start_from": FIRST}
    novel = draft_of(third, "novel")
    yield {"reply": "Drafts", "about": f"- {FIRST}: ", "say": {"drafts": [extending, novel]}}
    yield {"reply": "Drafts", "about": base.title, "say": {"drafts": [novel]}}
    first = [draft_of(base, "baseline"), draft_of(second, "novel")]
    yield {"reply": "Drafts", "say": {"drafts": first}}


def draft_of(solution: Solution, kind: str) -> dict[str, Any]:
    """Return a draft of the Coordinator."""
    return {"title": solution.title, "kind": kind, "method": solution.method, "ideas": [1, 2]}


def rules_of_attempt(solution: Solution, cells: Path) -> Iterator[dict[str, Any]]:
    """Yield the rules of the attempt at a solution: its cells, then its report; writes the cells."""
    for turn, code in enumerate((*solution.cells, OVER), start=1):
        name = f"{solution.name}_{turn}.py"
        (cells / name).write_text(code, encoding="utf-8")
        numbered = {"turn": turn} if turn <= len(solution.cells) else {}
        yield {
            "reply": "CodingStep", "about": solution.title, **numbered, "file": f"{cells.name}/{name}",
        }  # fmt: skip
    report = {"summary": f"{solution.title}. {solution.method}", "title": solution.title}
    yield {"reply": "AttemptReport", "about": solution.title, "say": report}


def solve(data: Path, project: Path, replies: Path, minutes: float) -> None:
    """Run a campaign in a project of its own; what a user would see is in `seen.txt` there."""
    cells = project / "cells"
    cells.mkdir(parents=True, exist_ok=True)
    script = project / "replies.yaml"
    script.write_text(yaml.safe_dump(rules_of(replies, cells), sort_keys=False), encoding="utf-8")
    command = [
        str(Path(sys.executable).with_name("comind")), "solve", str(data), "--out", str(project),
        "--model", f"scripted:{script}", "--coders", "2", "--iterations", "3", "--minutes", str(minutes),
        "--set", f"max_empty_rounds={EMPTY_ROUNDS}", "--set", "one_call_minutes=0", "--no-prove",
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    with (project / "seen.txt").open("w") as seen:
        subprocess.run(command, stdout=seen, stderr=seen, env=environment, check=False)


def campaign_of(project: Path) -> CampaignFolder | None:
    """Return the finished campaign of a project, if it has one."""
    found = ProjectFolder(project)
    for folder in map(found.campaign, found.campaigns()):
        if read_state(folder).picked is not None:
            return folder
    return None


def story(name: str, state: CampaignState, result: dict[str, Any]) -> Iterator[str]:
    """Yield what came of a campaign, a line each."""
    picked = state.picked
    assert picked is not None
    yield f"{name}: {result['seconds']:.0f} s, {state.split.metric if state.split else ''}"
    ranked = {each.work_id: each for each in picked.leaderboard}
    for attempt in state.works.rankable():
        place = ranked.get(attempt.id)
        told = "" if place is None else _on_folds(place)
        yield f"  {attempt.id}  {attempt.result}{told}; {attempt.title}"
    for run in state.works.codes(Operator.FOLD):
        if run.score is None:
            yield f"  {run.id}  {run.title}: {run.result}"
    plan = state.fold_plan
    why = plan.reason if plan else "none were planned"
    yield f"  folds       {picked.folds}{f' ({why})' if why else ''}"
    yield f"  blend       {result['blend'] or 'nothing to average'}"
    yield f"  pick        {picked.work_id}: {picked.reason}"
    yield f"  how sure    {picked.evidence or 'nobody asked'}"
    yield f"  refit       {'done' if result['refitted'] else 'none'}"


def _on_folds(place: Ranked) -> str:
    folds = " ".join(f"{value:.5g}" for value in place.folds)
    expected = "" if place.expected is None else f"; expected {place.expected:.5g}"
    return f"{f'; folds {folds}' if folds else ''}{expected}"


def compared(picked: FinalPicked, state: CampaignState) -> dict[str, Ranked]:
    """Return the best attempt, what was delivered, and what the rule `simplest` would have delivered."""
    places = {each.work_id: each for each in picked.leaderboard}
    blended = state.works.blend()
    singles = [each for each in picked.leaderboard if blended is None or each.work_id != blended.id]
    return {
        "best": min(singles, key=_expected),
        "first": singles[0],
        "delivered": places[picked.work_id],
        "old": places[pick_simplest(picked.leaderboard, blended).work_id],
    }


def _expected(place: Ranked) -> float:
    """Return an expected score such that less is better."""
    value = place.score.value
    found = value.value if place.expected is None else place.expected
    return -found if value.maximize else found


def row(name: str, state: CampaignState, result: dict[str, Any]) -> str:
    """Return a competition's line of the table."""
    picked = state.picked
    assert picked is not None
    found = compared(picked, state)
    gain = _expected(found["best"]) - _expected(found["delivered"])
    verdict = "level" if abs(gain) < LEVEL else "better" if gain > 0 else "WORSE"
    cells = [f"{abs(_expected(found[each])):.5g}" for each in ("best", "first", "old", "delivered")]
    blend = "accepted" if state.works.blend() is not None else "no"
    sure = "" if picked.confidence is None else f"{picked.confidence:.0%}"
    shrinkage = "" if picked.shrinkage is None else f"{picked.shrinkage:.3g}"
    refit = "yes" if result["refitted"] else "no"
    told = [
        *cells,
        verdict,
        str(picked.folds),
        blend,
        sure,
        shrinkage,
        refit,
        f"{result['seconds']:.0f}",
    ]
    return f"| {name} | {' | '.join(told)} |"


def main() -> None:
    """Run what has not been run, and print what came of it."""
    asked = _arguments()
    if asked.data is None or asked.work is None:
        print(
            "recorded replies: name the folder of the data with --data, and one to work in with --work"
        )
        return
    rows = []
    for name in asked.competitions or sorted(each.name for each in REPLIES.iterdir()):
        project = asked.work / name
        if campaign_of(project) is None:
            solve(asked.data / name, project, REPLIES / name, asked.minutes)
        folder = campaign_of(project)
        if folder is None:
            print(f"{name}: no campaign was finished, see {project / 'seen.txt'}")
            continue
        state, result = read_state(folder), result_of(project, folder)
        print("\n".join(story(name, state, result)), end="\n\n", flush=True)
        rows.append(row(name, state, result))
    print("\n".join([f"| {' | '.join(HEADS)} |", "|---" * len(HEADS) + "|", *rows]))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("competitions", nargs="*", metavar="COMPETITION")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--minutes", type=float, default=10.0)
    return parser.parse_args()


def _lines(path: Path) -> Sequence[str]:
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


if __name__ == "__main__":
    main()
