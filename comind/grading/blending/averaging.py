"""Average the submissions of several programs, its members.

The members' own submissions are taken where they lie at input/.members; else the members are run, each
in a folder of its own. Numbers are averaged as they are, by rank, or on a scale (log, log1p, logit) and
back; labels by vote, or by the probabilities or numbers that members keep beside them.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

KEPT = "input/.members"
FILES_BESIDE = ("validation_probabilities.csv", "test_probabilities.csv")
NO_LESS = 1e-15
BESIDE = ("probability", "number")  # means of what is kept beside labels
_UNBOUNDED = ("log", "logit")  # scales on which every number is a prediction


def scaled(mean: str, values: np.ndarray) -> np.ndarray:
    """Return predictions on the scale on which they are averaged, shape (rows, targets)."""
    match mean:
        case "log":
            return np.asarray(np.log(np.maximum(values, NO_LESS)))
        case "log1p":
            return np.asarray(np.log1p(values))
        case "logit":
            inside = np.clip(values, NO_LESS, 1 - NO_LESS)
            return np.asarray(np.log(inside) - np.log1p(-inside))
        case "rank":
            return np.asarray(pd.DataFrame(values).rank() / len(values))
        case _:
            return values


def average(
    mean: str, parts: Sequence[np.ndarray], weights: np.ndarray, offsets: np.ndarray | None = None
) -> np.ndarray:
    """Return the average of scaled predictions, each of shape (rows, targets).

    `weights` has shape (members, targets). Of labels with as many votes, that of the first member wins.
    With `offsets`, shape (targets,), it is the weighted sum and these; on scales on which not every
    number is a prediction, between the least and the greatest value of any member for the target.
    """
    if mean == "vote":
        return voted(parts, weights)
    mixed = sum(weight * part for weight, part in zip(weights, parts, strict=True))
    is_average = offsets is None or mean in BESIDE
    mixed = np.asarray(mixed / weights.sum(axis=0) if is_average else mixed + offsets)
    if mean in BESIDE:
        return mixed
    if offsets is not None and mean not in _UNBOUNDED:
        least = np.min([part.min(axis=0) for part in parts], axis=0)
        most = np.max([part.max(axis=0) for part in parts], axis=0)
        mixed = np.asarray(np.clip(mixed, least, most))
    match mean:
        case "log":
            return np.asarray(np.exp(mixed))
        case "log1p":
            return np.asarray(np.expm1(mixed))
        case "logit":
            return np.asarray(1 / (1 + np.exp(-mixed)))
        case "rounded":
            return np.asarray(np.rint(mixed).astype("int64"))
        case _:
            return mixed


def decided(
    mean: str, mixed: np.ndarray, labels: Sequence[str], offsets: np.ndarray | None
) -> np.ndarray:
    """Return the label of each row, shape (rows,), of averaged probabilities or numbers.

    The most probable class, after its logarithm was raised by its offset; or the label between whose
    bounds a number lies, ascending `offsets`, without which it is rounded to the nearest label.
    """
    names = np.array(labels, dtype=object)
    if mean == "probability":
        raised = mixed if offsets is None else np.log(np.maximum(mixed, NO_LESS)) + offsets
        return np.asarray(names[np.argmax(raised, axis=1)])
    values = np.array(labels, dtype=float)
    bounds = (values[1:] + values[:-1]) / 2 if offsets is None else offsets
    return np.asarray(names[np.searchsorted(bounds, mixed[:, 0])])


def voted(parts: Sequence[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """Return in each cell the label that most of the weight is for."""
    votes = [
        sum(weight * (part == other) for weight, other in zip(weights, parts, strict=True))
        for part in parts
    ]
    winner = np.argmax(np.stack(votes), axis=0)
    return np.asarray(np.take_along_axis(np.stack(parts), winner[None], axis=0)[0])


def blend(
    members: Sequence[Mapping[str, Any]],
    ids: list[str],
    targets: list[str],
    mean: str,
    *names: str,
    offsets: Sequence[float] | None = None,
    labels: Sequence[str] = (),
) -> None:
    """Write the averages of the members' submissions for validation and test, under these `names`.

    With `labels` they average probabilities or numbers, in files beside the submissions.
    """
    weights = np.array([member["weights"] for member in members], dtype=float)
    weights = np.broadcast_to(weights, (len(members), len(targets)))
    found = [submissions_of(number, member) for number, member in enumerate(members)]
    added = None if offsets is None else np.array(offsets)
    for place, name in enumerate(names):
        first = read_cells(found[0][place])
        wanted = row_keys(first, ids)
        parts = []
        for files in found:
            table = read_cells(files[place + len(names) * bool(labels)])
            rows = table.iloc[row_keys(table, ids).get_indexer(wanted)]
            parts.append(scaled(mean, values_of(mean, rows, columns_of(mean, rows, targets, labels))))
        mixed = average(mean, parts, weights, added)
        if labels:
            mixed = decided(mean, mixed, labels, added)[:, None]
        columns = {target: mixed[:, number] for number, target in enumerate(targets)}
        first.assign(**columns).to_csv(name, index=False, lineterminator="\n")


def columns_of(mean: str, table: pd.DataFrame, targets: list[str], labels: Sequence[str]) -> list[str]:
    """Return the columns that are averaged; those of classes in the order of `labels`.

    A column in another spelling is a class's if none has its own.
    """
    if mean != "probability":
        return targets
    known = {plain(name): name for name in table.columns} | {name: name for name in table.columns}
    return [known.get(label) or known[plain(label)] for label in labels]


def plain(label: str) -> str:
    """Return the spelling in which labels are compared."""
    return re.sub(r"^(-?\d+)\.0+$", r"\1", label.strip()).casefold()


def submissions_of(number: int, member: Mapping[str, Any]) -> tuple[Path, ...]:
    """Return where both submissions of a member lie, and what it keeps beside each.

    It is run where they are not there.
    """
    kept = Path(KEPT, str(number))
    if kept.is_dir():
        return tuple(
            kept / name for name in ("validation_submission.csv", "submission.csv", *FILES_BESIDE)
        )
    folder = Path("members", str(number))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "input").symlink_to("../../input", target_is_directory=True)
    (folder / member["file"]).write_text(member["script"], encoding="utf-8")
    ipython = [] if member["file"].endswith(".py") else ["-m", "IPython", "--quick"]
    ran = subprocess.run(
        [sys.executable, "-P", *ipython, member["file"]],
        cwd=folder,
        env={**os.environ, **member["environment"]},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if ran.returncode:
        last = ran.stderr.strip().rpartition("\n")[2]
        raise RuntimeError(f"the script of {member['name']} ended with {ran.returncode}: {last}")
    return tuple(folder / name for name in (member["validation"], member["test"], *FILES_BESIDE))


def read_cells(path: Path) -> pd.DataFrame:
    """Return a submission with every cell as text."""
    return pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")


def row_keys(table: pd.DataFrame, ids: list[str]) -> pd.Index:
    """Return one key a row; `7`, `7.0` and ` 7` are the same key."""
    parts = [table[name].str.strip().str.replace(r"^(-?\d+)\.0+$", r"\1", regex=True) for name in ids]
    return pd.Index(list(zip(*parts, strict=True)), tupleize_cols=False)


def values_of(mean: str, table: pd.DataFrame, targets: list[str]) -> np.ndarray:
    """Return the predictions of a submission, shape (rows, targets); `1` and `1.0` are one label."""
    cells = table[targets].apply(lambda column: column.str.strip())
    if mean != "vote":
        return np.asarray(cells.astype(float))
    return np.asarray(cells.replace(r"^(-?\d+)\.0+$", r"\1", regex=True), dtype=object)
