"""A bench of six arms on scripted replies: four past competitions, killed ten times and undisturbed.

`python benchmarks/arms.py --data DATA --work WORK [--seeds 3] [--kills 10]` writes a plan with the arms
of the CoMind paper's section 6, and one script of rules for all of them: the two solutions in
`small_replies/`, and the ideas in `replies/`;
each competition gets a community of two notebooks and one discussion from the same replies. Then it runs
`comind bench` twice: in WORK/undisturbed, and in WORK/killed, with kills at random times. It prints
whether both have the same results, and which share of the time no campaign was running.

All arms get the same solutions, whatever their prompts say. So differences between arms come from the
platform alone (steps, blends), and those of the variants of AIDE are 0: a test of the bench, not of the
agents. Without `--data` and `--work` it runs nothing.
"""

import argparse
import itertools
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from benchmarks.recorded import (
    FIRST,
    REPLIES,
    Solution,
    draft_of,
    read_solution,
    rules_of_attempt,
    rules_of_reading,
)  # fmt: skip
from comind.campaign.log.campaign_folders import ProjectFolder

COMPETITIONS = (
    "titanic", "bike-sharing-demand", "leaf-classification", "spooky-author-identification",
)  # fmt: skip
SOLUTIONS = Path(__file__).parent / "small_replies"
"""A first solution, and one that follows it, for any table; each runs for some seconds."""
ARMS: dict[str, dict[str, Any]] = {
    "comind": {},
    "comind-alone": {"community": "none"},
    "aide": {"agent": "aide", "community": "none", "set": {"drafts": 1}},
    "aide-code": {"agent": "aide", "set": {"drafts": 1, "community": "code"}},
    "aide-rag": {"agent": "aide", "set": {"drafts": 1, "community": "rag"}},
    "baseline": {"model": "offline", "iterations": 1},
}
COMMON: dict[str, Any] = {
    "coders": 1, "iterations": 2, "steps": 6, "evaluations": 2, "minutes": 20, "folds": 0,
    "refit": False, "prove": False,
}  # fmt: skip
Pair = tuple[Solution, Solution]
AT_ONCE = 2
KILL_AFTER = (15.0, 90.0)
"""Seconds; the time until a kill is drawn between them."""
PUBLISHED = "2024-01-01T00:00:00Z"
PROLOGUE = """import numpy as np
import pandas as pd

folder, parts = "input/{name}", ("train", "validation", "test")
train, validation, test = (pd.read_csv(f"{{folder}}/{{part}}.csv") for part in parts)


def submit(for_validation, for_test, out_of_fold=None, final=False):
    for kind, values in (("validation_", for_validation), ("", for_test)):
        table = pd.read_csv(f"{{folder}}/sample_{{kind}}submission.csv")
        table[table.columns[1:]] = np.asarray(values).reshape(len(table), -1)
        table.to_csv(f"{{kind}}submission.csv", index=False)


"""


def program(name: str, solution: Solution) -> str:
    """Return a solution as one program that runs by itself."""
    return PROLOGUE.format(name=name) + "\n".join(solution.cells)


def rules_of_comind(folder: Path, cells: Path, pair: Pair) -> Iterator[dict[str, Any]]:
    """Yield the rules of CoMind: one draft, then one that extends it."""
    first, second = pair
    for each in (second, first):
        yield from rules_of_attempt(each, cells)
    following = {**draft_of(second, "extend"), "start_from": FIRST}
    yield {"reply": "Drafts", "about": f"- {FIRST}: ", "say": {"drafts": [following]}}
    yield {"reply": "Drafts", "say": {"drafts": [draft_of(first, "novel")]}}
    yield from rules_of_reading(folder, second.method)


def rules_of_aide(name: str, pair: Pair) -> Iterator[dict[str, Any]]:
    """Yield the rules of AIDE: one draft and one improvement."""
    for about, solution in (("from scratch", pair[0]), ("exactly one change", pair[1])):
        node = {"plan": f"{solution.title}. {solution.method}", "code": program(name, solution)}
        yield {"reply": "Solution", "about": about, "say": node}
    yield {"reply": "Picks", "say": {"numbers": [1, 2]}}
    yield {"reply": "Review", "say": {"summary": "It ran to its end."}}
    yield {"reply": "Digest", "say": {"summary": "A program of this competition."}}


def write_competition(source: Path, target: Path, solutions: Iterable[Solution]) -> str:
    """Link a competition's files, and write a community beside them; returns its title."""
    community = target / "community"
    community.mkdir(parents=True, exist_ok=True)
    for path in source.iterdir():
        if not (target / path.name).exists():
            (target / path.name).symlink_to(path.absolute())
    notebooks = [
        {
            "ref": f"somebody/{solution.name.replace('_', '-')}", "version": 1,
            "title": solution.title, "author": "somebody", "created_at": PUBLISHED, "votes": 10 - number,
            "language": "python", "source": program(source.name, solution),
        }
        for number, solution in enumerate(solutions)
    ]  # fmt: skip
    thread = {
        "id": "1", "title": "What works here", "author": "somebody", "posted_at": PUBLISHED, "votes": 5,
        "body": (REPLIES / source.name / "ideas.md").read_text(encoding="utf-8"), "comments": [],
    }  # fmt: skip
    for file, items in (("notebooks.jsonl", notebooks), ("discussions.jsonl", [thread])):
        (community / file).write_text(
            "".join(json.dumps(item) + "\n" for item in items), encoding="utf-8"
        )
    described = yaml.safe_load((source / "competition.yaml").read_text(encoding="utf-8"))
    return str(described["title"])


def write_bench(data: Path, work: Path, seeds: int) -> Path:
    """Write competitions, rules and plan below WORK; returns the plan's file."""
    cells = work / "cells"
    cells.mkdir(parents=True, exist_ok=True)
    rules: list[dict[str, Any]] = []
    first, second = (read_solution(SOLUTIONS / f"{name}.py") for name in ("linear", "trees"))
    second = replace(second, cells=(first.cells[0], *second.cells))  # both on the same features
    for name in COMPETITIONS:
        title = write_competition(data / name, work / "data" / name, (first, second))
        of_comind = rules_of_comind(REPLIES / name, cells, (first, second))
        for rule in itertools.chain(of_comind, rules_of_aide(name, (first, second))):
            about = [title, rule["about"]] if "about" in rule else [title]
            rules.append(rule if rule["reply"] == "MonitorVerdict" else {**rule, "about": about})
    script = work / "replies.yaml"
    script.write_text(yaml.safe_dump(rules, sort_keys=False), encoding="utf-8")
    plan = {
        "name": "arms", "competitions": [str(work / "data" / name) for name in COMPETITIONS],
        "seeds": seeds, "reference": "comind", "at_once": AT_ONCE,
        "common": {"model": f"scripted:{script}", **COMMON}, "arms": ARMS,
    }  # fmt: skip
    file = work / "arms.yaml"
    file.write_text(yaml.safe_dump(plan, sort_keys=False), encoding="utf-8")
    return file


def run_bench(plan: Path, project: Path, kills: int, draw: random.Random) -> float:
    """Run a bench to its end, after `kills` that end its process; returns the seconds in all."""
    project.mkdir(parents=True, exist_ok=True)
    comind = Path(sys.executable).with_name("comind")
    command = [str(comind), "bench", str(plan), "--out", str(project), "--json"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    began = time.monotonic()
    with (project / "seen.txt").open("a") as seen:
        for _ in range(kills):
            running = subprocess.Popen(command, stdout=seen, stderr=seen, env=environment)
            try:
                running.wait(draw.uniform(*KILL_AFTER))
            except subprocess.TimeoutExpired:
                running.send_signal(signal.SIGKILL)
                running.wait()
        subprocess.run(command, stdout=seen, stderr=seen, env=environment, check=True)
    return time.monotonic() - began


def results_of(project: Path) -> list[dict[str, Any]]:
    """Return the runs without their durations, which vary."""
    found = json.loads((project / "benches" / "arms" / "results.json").read_text(encoding="utf-8"))
    for run in found["runs"]:
        run.pop("seconds")
        for point in run["curve"]:
            point.pop("seconds")
    return list(found["runs"])


def idle_share(project: Path) -> float:
    """Return the share of the last run of the bench's flow in which no campaign's flow was running."""
    database = ProjectFolder(project).orchestration / "prefect.db"
    with sqlite3.connect(database) as connection:
        rows = connection.execute(
            "select name, start_time, end_time from flow_run where start_time > ''"
        )
        spans = {name: (_seconds(start), _seconds(end)) for name, start, end in rows if end}
    bench = next(span for name, span in spans.items() if name.startswith("bench "))
    inner = sorted(span for name, span in spans.items() if not name.startswith("bench "))
    busy, reached = 0.0, bench[0]
    for start, end in inner:
        busy += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return 1 - busy / (bench[1] - bench[0])


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()  # all in UTC, without a zone


def main() -> None:
    """Run the bench twice and compare the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--kills", type=int, default=10)
    given = parser.parse_args()
    if given.data is None or given.work is None:
        print(
            "bench of six arms: name the folder of the data with --data, and one to work in with --work"
        )
        return
    work = given.work.absolute()
    plan = write_bench(given.data.absolute(), work, given.seeds)
    undisturbed = run_bench(plan, work / "undisturbed", 0, random.Random(0))
    idle = idle_share(work / "undisturbed")
    print(f"undisturbed: {undisturbed:.0f} s; share without a running campaign: {idle:.2%}")
    killed = run_bench(plan, work / "killed", given.kills, random.Random(0))
    same = results_of(work / "killed") == results_of(work / "undisturbed")
    print(
        f"killed {given.kills} times: {killed:.0f} s; results are {'the same' if same else 'DIFFERENT'}"
    )


if __name__ == "__main__":
    main()
